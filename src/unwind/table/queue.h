/* SPDX-License-Identifier: MIT */
/*
 * Files whose unwind tables are to be built: first what most samples wait for. Of the rest ordinary
 * files go before giant ones. Among those the largest first, so that all are ready soonest, since
 * the last to begin is a small one; giant ones are not ready before sampling begins anyway, so
 * there the smallest, to have many of them soon. Equals go first come, first served.
 */
#ifndef EBPROF_UNWIND_TABLE_QUEUE_H
#define EBPROF_UNWIND_TABLE_QUEUE_H

#include <stdint.h>

#include "base/hashmap.h"
#include "base/vec.h"

struct unwind_job {
	uint32_t id, wanted;
	int fd;
	uint64_t size, number;	/* how many were added before */
};

/* All zeros: empty. */
struct unwind_queue {
	/* a heap: each goes before those at twice its place + 1 and + 2 */
	VEC(struct unwind_job) jobs;
	struct hashmap places;		/* id -> index of jobs */
	uint64_t added;
};

/* @id is not there yet. */
void unwind_queue_add(struct unwind_queue *q, uint32_t id, int fd, uint64_t size);
/* One more sample waits for @id, if it is there. */
void unwind_queue_want(struct unwind_queue *q, uint32_t id);
/* Takes out the one that goes first; there is one. */
struct unwind_job unwind_queue_take(struct unwind_queue *q);
void unwind_queue_free(struct unwind_queue *q);

#endif
