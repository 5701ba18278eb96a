/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF (DWARF 5, 7.3.2; GNU's of DWARF 4): a unit of which the program has
 * a skeleton alone, and the rest is where it was compiled, in a .dwo file.
 */
#ifndef EBPROF_DWARF_SPLIT_H
#define EBPROF_DWARF_SPLIT_H

#include "dwarf/dwarf_names.h"

struct dwarf_split {
	struct dwarf_debug debug;
	const struct dwarf_unit *unit;	/* of the skeleton's id */
	struct elf_file *elf;
	int fd;
};

/*
 * Opens the file that @skeleton names, and checks that it is the one: its id. 0,
 * -ENOENT it is not there, -ESTALE another one has its name, or why it could not be opened.
 */
int dwarf_split_open(struct dwarf_split *s, const struct dwarf_unit *skeleton);
void dwarf_split_close(struct dwarf_split *s);

#endif
