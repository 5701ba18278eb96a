/* SPDX-License-Identifier: MIT */
/*
 * The sampled blocks of a process that are alive: address -> id.
 *
 * Each free() asks it, and nearly all ask for blocks that are not there: that
 * is one line of cache. No lock is taken, so a fork at any time leaves the child a
 * table that works. A bucket that is full leads on to the next level, which is four times as large
 * and made when it is needed.
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

struct block_bucket {
	uintptr_t at[BLOCK_SLOTS];	/* addresses; 0: free */
	uint64_t beyond;		/* 1: it was full once, others may be in the next level */
	uint64_t ids[BLOCK_SLOTS + 1];
} __attribute__((aligned(64)));

struct block_table {
	struct block_bucket *levels[BLOCK_LEVELS];
	unsigned int bits;	/* of the first level's number of buckets; 0: as many as suits samples */
};

/* 0, or -1 where there is no memory for it. @id is not 0. */
int block_table_put(struct block_table *t, const void *block, uint64_t id);
/* Removes @block: its id, or 0 where it is not there. */
uint64_t block_table_take(struct block_table *t, const void *block);

#endif
