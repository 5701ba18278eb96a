/* SPDX-License-Identifier: MIT */
/*
 * Which parts of the shards are free. Book-keeping alone, in our own memory:
 * the shards' memory is never touched here. All sizes are in units of a ref (16
 * bytes), and nothing that is given out crosses from one shard to the next.
 */
#ifndef EBPROF_UNWIND_SHARDS_ALLOC_H
#define EBPROF_UNWIND_SHARDS_ALLOC_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

#define UNWIND_SHARD_UNITS	(EBP_SHARD_BYTES >> EBP_REF_SHIFT)

struct unwind_alloc;

struct unwind_alloc *unwind_alloc_new(void);
void unwind_alloc_free(struct unwind_alloc *a);

/* @units in a row, at least 1. Their ref, or 0 where there is no such room. */
uint32_t unwind_alloc_take(struct unwind_alloc *a, uint32_t units);
/*
 * Gives back what was taken, or a part of it, or, at first, memory that is new; all of it in one
 * shard.
 */
void unwind_alloc_give(struct unwind_alloc *a, uint32_t ref, uint32_t units);
/* Units that are free. */
size_t unwind_alloc_left(const struct unwind_alloc *a);

#endif
