/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF (DWARF 5, 7.3.2; GNU's of DWARF 4): a unit of which the program has
 * a skeleton alone, and the rest is in a package (dwarf_package.h), or where it was compiled, in a
 * .dwo file.
 */
#ifndef EBPROF_DWARF_SPLIT_H
#define EBPROF_DWARF_SPLIT_H

#include <sys/types.h>

#include "dwarf/dwarf_names.h"
#include "dwarf/dwarf_package.h"

struct dwarf_split {
	struct dwarf_debug debug;
	const struct dwarf_unit *unit;	/* of the skeleton's id */
	struct elf_file *elf;		/* NULL where it is in a package */
	int fd;				/* and -1 */
};

/*
 * Opens what @package (NULL: there is none) has of @skeleton, else the file that it names, in our
 * root or that of the process @target (0: not there), and checks that it is the one: its id. The
 * package must outlive it. 0, -ENOENT it is not there, -ESTALE another one has its name, or why it
 * could not be opened.
 */
int dwarf_split_open(struct dwarf_split *s, struct dwarf_package *package,
		     const struct dwarf_unit *skeleton, pid_t target);
void dwarf_split_close(struct dwarf_split *s);

#endif
