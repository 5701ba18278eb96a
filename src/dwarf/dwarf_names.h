/* SPDX-License-Identifier: MIT */
/* The name of a function's entry, by what it refers to (DWARF 5, 2.15, 2.13, 3.3.8). */
#ifndef EBPROF_DWARF_NAMES_H
#define EBPROF_DWARF_NAMES_H

#include "dwarf/dwarf_unit.h"

/* A file with its units, and dwz's with what several have in common, or NULL. */
struct dwarf_debug {
	struct dwarf_file file;
	dwarf_units units;
	struct dwarf_debug *alt;
};

/*
 * The linkage name of the entry at @entry (DWARF_ALT: in d->alt), else its name,
 * cut; of a name that needs its scope before it *@scoped is the entry that has it,
 * else 0. 0, -ENOENT: it has none, or -EBADMSG.
 */
int dwarf_name(struct dwarf_debug *d, uint64_t entry, char *dst, size_t size, uint64_t *scoped);

/* dwarf_text(), also of strings in dwz's file. */
int dwarf_debug_text(const struct dwarf_debug *d, const struct dwarf_unit *u, struct dwarf_value v,
		     char *dst, size_t size);

#endif
