/* SPDX-License-Identifier: MIT */
/* One debugging information entry by itself, wherever it is (DWARF 5, 2.1, 7.5.2). */
#ifndef EBPROF_DWARF_ENTRY_H
#define EBPROF_DWARF_ENTRY_H

#include "dwarf/dwarf_unit.h"

struct dwarf_entry {
	uint64_t code;			/* 0: a list of children ends here, and there is no more */
	uint16_t tag;			/* DW_TAG_* */
	int has_children;
	uint64_t end;			/* offset of what follows */
};

/* A string that is in the entry has its offset in .debug_info. */
typedef void dwarf_take(void *ctx, uint16_t name, struct dwarf_value v);
/*
 * Reads the entry at @at of .debug_info, in @u, and gives each of its attributes to @take: those of
 * a long entry twice. 0, or -EBADMSG: it is damaged, and what was given counts for nothing.
 */
int dwarf_entry_read(const struct dwarf_unit *u, uint64_t at, dwarf_take *take, void *ctx,
		     struct dwarf_entry *out);

#endif
