/* SPDX-License-Identifier: MIT */
/*
 * Memory for stacks that wait, in blocks of which each is a huge page, where there are any: a
 * stack is put away in less time than it takes to sample the next one.
 */
#ifndef EBPROF_STASH_H
#define EBPROF_STASH_H

#include <stddef.h>

#include "base/vec.h"

struct stash_block {
	char *bytes;		/* HUGE_BYTES */
	size_t used;		/* from the beginning on */
	size_t pieces;		/* that were not given back */
};

struct stash {
	VEC(struct stash_block) blocks;
	size_t most;		/* blocks */
	size_t filled;		/* the one that is being filled, if there are any */
};

/* Has a block, so that none needs to be made while others wait for their memory; @most of them. */
void stash_new(struct stash *s, size_t most);
/* @size bytes, 8-aligned; NULL: all blocks are in use, or it is more than one holds. */
void *stash_take(struct stash *s, size_t size);
/* Back. */
void stash_give(struct stash *s, void *piece);
/* All is back: to one block again. */
void stash_shrink(struct stash *s);
/* With all that was taken. */
void stash_free(struct stash *s);

#endif
