/* SPDX-License-Identifier: MIT */
/* From a list of mappings to sorted rows that do not overlap. */
#ifndef EBPROF_UNWIND_ROWS_H
#define EBPROF_UNWIND_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

/*
 * A mapping of executable memory; @image as in elf/image.h, IMAGE_NONE: no file; then @offset is
 * @start, but where processes share the memory.
 */
struct unwind_mapping {
	uint64_t start, end, offset;	/* @offset: of @start in the file */
	uint32_t image;
	/* number of the layout of the runtime that is in it, with its flag (lang.h); 0: none */
	uint32_t lang;
};

/*
 * @list sorted by address, in a malloc'd array *@out (NULL where nothing is
 * left): where mappings overlap the later in the list holds, and of the other what is
 * outside of it. Empty ones are left out. Returns how many.
 */
size_t unwind_rows_sort(const struct unwind_mapping *list, size_t n, struct unwind_mapping **out);

/*
 * Joins rows that say the same and touch, and makes them EBP_ROWS_MAX - 1 at most:
 * then memory without a file becomes one row with its like, gaps included, and if that
 * does not suffice the smallest rows go, to the end of the array. Returns how
 * many are left; all others are behind them, and name what they named.
 */
size_t unwind_rows_join(struct ebp_mapping *rows, size_t n);

#endif
