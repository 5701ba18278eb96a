/* SPDX-License-Identifier: MIT */
#include "base/heap.h"

#include <malloc.h>

#define MAPPED_FROM (256 << 10)	/* bytes of what is not kept in a heap */

void heap_keep_small(void)
{
	mallopt(M_MMAP_THRESHOLD, MAPPED_FROM);
	mallopt(M_ARENA_MAX, 1);
}

void heap_trim(void)
{
	malloc_trim(0);
}
