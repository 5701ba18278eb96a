/* SPDX-License-Identifier: MIT */
/*
 * Large memory in huge pages, where the kernel gives them to who asks (madvise(2)): what is touched
 * while others wait. A page fault takes 20 us under some hypervisors.
 */
#ifndef EBPROF_HUGE_H
#define EBPROF_HUGE_H

#include <stddef.h>

#define HUGE_BYTES	(2u << 20)	/* of x86-64, and of aarch64 with pages of 4 KiB */

/* What of @size bytes at @p can be; nothing of it has been touched. Without effect where not. */
void huge_wanted(void *p, size_t size);

#endif
