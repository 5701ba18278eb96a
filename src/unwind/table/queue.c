/* SPDX-License-Identifier: MIT */
#include "unwind/table/queue.h"

#define GIANT	(16u << 20)	/* bytes of a file: its table may take a while */

static int goes_before(const struct unwind_job *a, const struct unwind_job *b)
{
	int giant = a->size > GIANT;

	if (a->wanted != b->wanted)
		return a->wanted > b->wanted;
	if (giant != (b->size > GIANT))
		return !giant;
	if (a->size != b->size)
		return giant ? a->size < b->size : a->size > b->size;
	return a->number < b->number;
}

static void put(struct unwind_queue *q, size_t at, const struct unwind_job *job)
{
	q->jobs.v[at] = *job;
	hashmap_set(&q->places, job->id, (uint32_t)at);
}

/* Puts @job, for which there is room at @at, where it belongs on the way up. */
static void rise(struct unwind_queue *q, size_t at, struct unwind_job job)
{
	for (; at && goes_before(&job, &q->jobs.v[(at - 1) / 2]); at = (at - 1) / 2)
		put(q, at, &q->jobs.v[(at - 1) / 2]);
	put(q, at, &job);
}

/* The same on the way down from the top. */
static void sink(struct unwind_queue *q, struct unwind_job job)
{
	size_t at = 0, next;

	for (; (next = 2 * at + 1) < q->jobs.n; at = next) {
		if (next + 1 < q->jobs.n && goes_before(&q->jobs.v[next + 1], &q->jobs.v[next]))
			next++;
		if (!goes_before(&q->jobs.v[next], &job))
			break;
		put(q, at, &q->jobs.v[next]);
	}
	put(q, at, &job);
}

void unwind_queue_add(struct unwind_queue *q, uint32_t id, int fd, uint64_t size)
{
	const struct unwind_job job = { .id = id, .fd = fd, .size = size, .number = q->added++ };

	vec_push(&q->jobs, job);
	rise(q, q->jobs.n - 1, job);
}

void unwind_queue_want(struct unwind_queue *q, uint32_t id)
{
	uint32_t at = hashmap_get(&q->places, id);
	struct unwind_job job;

	if (at == HASHMAP_NONE)
		return;
	job = q->jobs.v[at];
	job.wanted++;
	rise(q, at, job);
}

struct unwind_job unwind_queue_take(struct unwind_queue *q)
{
	const struct unwind_job first = q->jobs.v[0], last = q->jobs.v[--q->jobs.n];

	hashmap_del(&q->places, first.id);
	if (q->jobs.n)
		sink(q, last);
	return first;
}

void unwind_queue_free(struct unwind_queue *q)
{
	vec_free(&q->jobs);
	hashmap_free(&q->places);
}
