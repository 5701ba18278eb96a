/* SPDX-License-Identifier: MIT */
/*
 * The sampled blocks of a process that are alive: address -> id.
 *
 * Each free() asks it, and nearly all ask for blocks that are not there: the
 * filter tells, by one byte, which lies beside those of the neighbours in memory. No lock is taken,
 * so a fork at any time leaves the child a table that works. A bucket that is full leads on to the
 * next level, which is four times as large and made when it is needed.
 *
 * Who frees a block got its address from who allocated it, so the two of one
 * address never meet; that is all the order that this relies on. A table that is all zeros is
 * empty. Safe for all threads.
 */
#ifndef EBPROF_BLOCK_TABLE_H
#define EBPROF_BLOCK_TABLE_H

#include <stdint.h>

#define BLOCK_LEVELS 8
#define BLOCK_SLOTS 7
#define BLOCK_FILTER 65536	/* bytes; a power of two */

struct block_bucket {
	uintptr_t at[BLOCK_SLOTS];	/* addresses; 0: free */
	uint64_t beyond;		/* 1: it was full once, others may be in the next level */
	uint64_t ids[BLOCK_SLOTS + 1];
} __attribute__((aligned(64)));

struct block_table {
	struct block_bucket *levels[BLOCK_LEVELS];
	/* of the first level's number of buckets; 0: as many as suits samples */
	unsigned int bits;
	/* how many blocks of that hash there may be; 255: for good */
	uint8_t filter[BLOCK_FILTER];
};

/* Its place in the filter. Blocks lie at multiples of 16. */
static inline uint8_t *block_table_mark(struct block_table *t, const void *block)
{
	return &t->filter[(uintptr_t)block >> 4 & (BLOCK_FILTER - 1)];
}

/* 0: @block is not there. */
static inline int block_table_may_have(struct block_table *t, const void *block)
{
	return __atomic_load_n(block_table_mark(t, block), __ATOMIC_RELAXED);
}

/* From now on block_table_may_have() says so of @block. */
void block_table_watch(struct block_table *t, const void *block);

/* 0, or -1 where there is no memory for it. @id is not 0. */
int block_table_put(struct block_table *t, const void *block, uint64_t id);
/* Removes @block: its id, or 0 where it is not there. */
uint64_t block_table_take(struct block_table *t, const void *block);

#endif
