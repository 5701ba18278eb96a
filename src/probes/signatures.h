/* SPDX-License-Identifier: MIT */
/* What the functions of a file take and return, by its debug information. Hostile bytes. */
#ifndef EBPROF_PROBES_SIGNATURES_H
#define EBPROF_PROBES_SIGNATURES_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define SIGNATURE_TEXT 32	/* bytes of a text, with its end */

struct signatures;

/* Of @f, borrowed; NULL: it has no debug information. */
struct signatures *signatures_open(const struct elf_file *f);
void signatures_close(struct signatures *s);
/*
 * Of the function at @address: bytes of its result and of each argument, negative with a sign, 0
 * where it is not known ("-4 8 -4"). "" where there is no such function.
 */
void signatures_find(struct signatures *s, uint64_t address, char text[SIGNATURE_TEXT]);

#endif
