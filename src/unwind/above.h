/* SPDX-License-Identifier: MIT */
/* What lies above a stack that was sent, in pieces that stacks of a thread share. */
#ifndef EBPROF_UNWIND_ABOVE_H
#define EBPROF_UNWIND_ABOVE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* bytes at the end of a stack by which it is known whether what lies above still holds */
#define UNWIND_BORDER		2048u
#define UNWIND_BORDER_LEAST	512u	/* ... where there are no more */

/*
 * Whether the end of a stack, @size bytes @then, is what is there @now: the same frames, in which
 * some variables may have changed. While rustc runs that is so of 1 to 7 words of 256; where other
 * frames took their place, of 40 at least.
 */
static inline int unwind_border_holds(const void *then, const void *now, size_t size)
{
	size_t changed = 0;

	for (size_t i = 0; i < size; i += sizeof(uint64_t))
		changed += !!memcmp((const char *)then + i, (const char *)now + i,
				    sizeof(uint64_t));
	return changed <= size / sizeof(uint64_t) / 16;
}

struct unwind_above {
	uint64_t start;			/* address of the first byte */
	uint32_t n;			/* bytes */
	uint32_t users;			/* that hold it; who lets go last frees it */
	/* goes on from where this one ends, or from below that; NULL: it is not known how */
	struct unwind_above *next;
	char *bytes;
};

#endif
