/* SPDX-License-Identifier: MIT */
/*
 * The functions of a unit and what was inlined into them (DWARF 5, 3.3), as a
 * tree, and a list of stretches of code by which an address finds its place in it.
 */
#ifndef EBPROF_DWARF_FUNCTIONS_H
#define EBPROF_DWARF_FUNCTIONS_H

#include "dwarf/dwarf_unit.h"

#define DWARF_NO_NODE UINT32_MAX

/* In a node's entry: it is in .debug_info of the file that dwz made. */
#define DWARF_ALT (1ull << 63)

struct dwarf_node {
	uint64_t entry;		/* offset of the entry that leads to its name */
	uint64_t start;		/* its first address */
	uint32_t parent;	/* what it was inlined into; DWARF_NO_NODE: it is a function */
	/* of the call that was inlined; DWARF_NO_FILE, 0: not told */
	uint32_t call_file, call_line;
};

struct dwarf_piece {
	uint64_t start;
	uint32_t node;		/* DWARF_NO_NODE: no code of this unit */
};

/* A namespace or a class: entries [start, end) of .debug_info are in it. */
struct dwarf_scope {
	uint64_t start, end;
	/* the entry of the one that it is in, if that is nearer than @parent; else 0 */
	uint64_t function;
	uint32_t parent;	/* the one around it, or DWARF_NO_NODE */
	int is_namespace;
	struct dwarf_value name;
};

struct dwarf_functions {
	VEC(struct dwarf_node) nodes;
	VEC(struct dwarf_piece) pieces;	/* ascending */
	VEC(struct dwarf_scope) scopes;	/* ascending, by start */
};

/*
 * Reads the unit's entries. 0, or negative: nothing could be read; what precedes damage is taken.
 */
int dwarf_functions_read(const struct dwarf_unit *u, struct dwarf_functions *out);
void dwarf_functions_free(struct dwarf_functions *f);
/* The innermost node at @address, or DWARF_NO_NODE. */
uint32_t dwarf_functions_find(const struct dwarf_functions *f, uint64_t address);

/* The innermost scope of the entry at @entry, or DWARF_NO_NODE. */
uint32_t dwarf_functions_scope(const struct dwarf_functions *f, uint64_t entry);
/* Which of the nameless classes of its function @scope is, from 1 on. */
uint32_t dwarf_functions_nameless(const struct dwarf_functions *f, uint32_t scope);

#endif
