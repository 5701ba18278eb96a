/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_queue.h"

#include <string.h>

#define LONG (64u << 20)	/* bytes */

static size_t words_of(const union alloc_record *record)
{
	return (record->head.type == EBP_ALLOCATION ? sizeof(record->begin) : sizeof(record->end)) /
	       sizeof(uint64_t);
}

void alloc_queue_add(struct alloc_queue *q, const union alloc_record *record)
{
	size_t n = words_of(record);

	vec_reserve(&q->words, q->words.n + n);
	memcpy(q->words.v + q->words.n, record, n * sizeof(uint64_t));
	q->words.n += n;
}

const union alloc_record *alloc_queue_first(const struct alloc_queue *q)
{
	return q->at < q->words.n ? (const void *)(q->words.v + q->at) : NULL;
}

void alloc_queue_next(struct alloc_queue *q)
{
	q->at += words_of(alloc_queue_first(q));
	if (q->at == q->words.n)
		q->at = q->words.n = 0;
}

int alloc_queue_is_long(const struct alloc_queue *q)
{
	return q->words.n - q->at > LONG / sizeof(uint64_t);
}

void alloc_queue_free(struct alloc_queue *q)
{
	vec_free(&q->words);
}
