/* SPDX-License-Identifier: MIT */
/* What lies above a stack that was sent, in pieces that stacks of a thread share. */
#ifndef EBPROF_UNWIND_ABOVE_H
#define EBPROF_UNWIND_ABOVE_H

#include <stdint.h>

/* bytes at the end of a stack by which it is known whether what lies above still holds */
#define UNWIND_BORDER 512u

struct unwind_above {
	uint64_t start;			/* address of the first byte */
	uint32_t n;			/* bytes */
	uint32_t users;			/* that hold it; who lets go last frees it */
	/* goes on from where this one ends, or from below that; NULL: it is not known how */
	struct unwind_above *next;
	char *bytes;
};

#endif
