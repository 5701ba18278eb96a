/* SPDX-License-Identifier: MIT */
/*
 * Records of allocations that wait, in their order, until the stack of the first is known: one that
 * the kernel could not unwind comes a little later than its record. A queue that is all zeros is
 * empty.
 */
#ifndef EBPROF_ALLOC_QUEUE_H
#define EBPROF_ALLOC_QUEUE_H

#include <stdint.h>

#include "base/vec.h"
#include "bpf/ebprof.h"

union alloc_record {
	struct ebp_head head;
	struct ebp_allocation begin;	/* EBP_ALLOCATION */
	struct ebp_allocation_end end;	/* EBP_FREED, EBP_GONE */
};

struct alloc_queue {
	VEC(uint64_t) words;	/* records behind one another, each of whole words */
	size_t at;		/* of the first that waits */
};

void alloc_queue_add(struct alloc_queue *q, const union alloc_record *record);
/* The first record, or NULL. Valid until the next call. */
const union alloc_record *alloc_queue_first(const struct alloc_queue *q);
void alloc_queue_next(struct alloc_queue *q);
/* 1 where it is so long that it should not wait any more. */
int alloc_queue_is_long(const struct alloc_queue *q);
void alloc_queue_free(struct alloc_queue *q);

#endif
