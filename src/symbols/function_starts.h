/* SPDX-License-Identifier: MIT */
/*
 * Where functions without a symbol begin and end, as a symbol source
 * (symbol_source.h): stripping leaves the call frame information (.eh_frame,
 * .debug_frame), an FDE of which is about one function, or about a part of one
 * that was moved away (.cold). So all places of such a function can count as one.
 *
 * A few of them have names all the same: the entry point, main(), and what is in
 * .init and .fini. Of all others name() says -ENODATA. Addresses are virtual ones
 * of the file. What lies between two FDEs may be any number of functions, so it is
 * none here.
 */
#ifndef EBPROF_FUNCTION_STARTS_H
#define EBPROF_FUNCTION_STARTS_H

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

#define FUNCTION_NAMELESS 0	/* the token of those without a name */

/*
 * Of @elf, and of its debug file @debug (NULL: none), of which .debug_frame is read, too. Both are
 * not needed any more afterwards. NULL with errno: ENODATA there is no function in it.
 */
struct symbol_source *function_starts_open(const struct elf_file *elf,
					   const struct elf_file *debug);

/* Whether a function begins behind @after, and at @upto or before. */
int function_starts_between(const struct symbol_source *s, uint64_t after, uint64_t upto);

#endif
