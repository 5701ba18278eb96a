/* SPDX-License-Identifier: MIT */
/* The numbers that a function takes and returns, by their types (DWARF 5, 3.3, 4.1, 5.1 to 5.3). */
#ifndef EBPROF_DWARF_SIGNATURE_H
#define EBPROF_DWARF_SIGNATURE_H

#include "dwarf/dwarf_names.h"

#define DWARF_ARGUMENTS_MAX 6	/* that are passed in registers */

/* Bytes of a number or an address, negative where it has a sign; 0: it is none, or not known. */
struct dwarf_signature {
	int result;
	int argument[DWARF_ARGUMENTS_MAX];
};

/*
 * Of the function at @entry (as struct dwarf_node has it). 0, or -EBADMSG: it cannot be read; types
 * in dwz's file, or in another one, are not known.
 */
int dwarf_signature(struct dwarf_debug *d, uint64_t entry, struct dwarf_signature *out);

#endif
