/* SPDX-License-Identifier: MIT */
/*
 * Ranges of code made at run time, in the order in which they were told. A JIT
 * uses its memory again, so where two overlap the later one holds; they are cut
 * into pieces that do not overlap, and a look-up is one binary search.
 *
 * All zeros is empty. What is added is seen after jit_ranges_cut().
 */
#ifndef EBPROF_JIT_RANGES_H
#define EBPROF_JIT_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

#define JIT_RANGES_MAX (4u << 20)	/* the largest programs have a million; 40 bytes for each */

struct jit_range {
	uint64_t start;
	uint32_t size;
	uint32_t payload;	/* the caller's */
};

struct jit_ranges {
	/* in their order; after a cut only those that can be seen */
	VEC(struct jit_range) all;
	/* of the pieces, ascending; apart from them for the search's sake */
	uint64_t *starts;
	struct jit_piece { uint32_t size, range; } *pieces;
	size_t n;
	int full;			/* there was no room for some */
};

/*
 * -EINVAL: empty, 4 GiB or larger, or past the end of the address space. -ENOSPC: there are
 * JIT_RANGES_MAX.
 */
int jit_ranges_add(struct jit_ranges *r, uint64_t start, uint64_t size, uint32_t payload);
void jit_ranges_cut(struct jit_ranges *r);
/* The range that covers @address, or NULL. Valid until the next change. */
const struct jit_range *jit_ranges_find(const struct jit_ranges *r, uint64_t address);
/* Leaves it empty and usable. */
void jit_ranges_free(struct jit_ranges *r);

#endif
