/* SPDX-License-Identifier: MIT */
/*
 * Packages of split DWARF, .dwp files: what was in many .dwo files, and an index
 * of which part of each section is whose (DWARF 5, 7.3.5; GNU's version 2 for
 * DWARF 4 by gcc.gnu.org/wiki/DebugFissionDWP).
 */
#ifndef EBPROF_DWARF_PACKAGE_H
#define EBPROF_DWARF_PACKAGE_H

#include "dwarf/dwarf_file.h"

struct dwarf_package {
	struct dwarf_file file;
	uint32_t version, columns, units, slots;	/* of the index */
};

/*
 * Borrows @elf. 0, -ENODATA: it is no package, -EBADMSG a damaged one, or -ENOTSUP of another
 * version.
 */
int dwarf_package_open(struct dwarf_package *p, const struct elf_file *elf);
void dwarf_package_close(struct dwarf_package *p);

/*
 * The sections of the unit with that id, as if they were a file of their own, which is to be closed
 * before the package is. 0, -ENOENT: it is not in there, or -EBADMSG.
 */
int dwarf_package_unit(struct dwarf_package *p, uint64_t id, struct dwarf_file *out);

#endif
