/* SPDX-License-Identifier: MIT */
#include "base/huge.h"

#include <stdint.h>
#include <sys/mman.h>

void huge_wanted(void *p, size_t size)
{
	uintptr_t begin = ((uintptr_t)p + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1);
	uintptr_t end = ((uintptr_t)p + size) & ~(uintptr_t)(HUGE_BYTES - 1);

	if (begin < end)
		madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}
