/* SPDX-License-Identifier: MIT */
/*
 * The shards: memory that the BPF programs read while we write it.
 *
 * An allocator over equal blocks of memory, and the placing of tables in it.
 * What is published is never changed, only replaced; what was replaced is
 * reused only after a grace period, which the caller reports by
 * unwind_store_epoch(). Not thread safe.
 */
#ifndef EBPROF_UNWIND_SHARDS_STORE_H
#define EBPROF_UNWIND_SHARDS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/table/table.h"

struct unwind_store;

/*
 * Makes shard @index visible to the readers and returns its memory, zeroed; NULL with errno where
 * that cannot be.
 */
typedef uint8_t *unwind_grow(void *ctx, uint32_t index);

/* @limit: bytes of all shards together, at least one shard. */
struct unwind_store *unwind_store_new(size_t limit, unwind_grow *grow, void *ctx);
void unwind_store_free(struct unwind_store *s);

/*
 * Places an object without pages: a reader who finds it has EBP_NO_TABLE. Its ref, or 0 with errno:
 * ENOSPC the limit is reached, or grow's error.
 */
uint32_t unwind_store_add_object(struct unwind_store *s);
/*
 * Fills it: blocks first, then, by a store-release, the directory. 0; -ENOSPC
 * (nothing was changed); -EBUSY: it has tables, or was emptied less than two epochs
 * ago; or grow's error.
 */
int unwind_store_fill(struct unwind_store *s, uint32_t object, const struct unwind_table *t);
/* Bytes that it takes. */
size_t unwind_store_need(const struct unwind_table *t);
/* Takes its tables away (EBP_NO_TABLE again); their memory is free after the next two epochs. */
void unwind_store_empty(struct unwind_store *s, uint32_t object);
/* Takes it away; no row may name it any more. */
void unwind_store_remove(struct unwind_store *s, uint32_t object);

/*
 * Places rows, sorted, at most EBP_ROWS_MAX. Their ref, or 0 with errno as above. @n may not be 0.
 */
uint32_t unwind_store_add_rows(struct unwind_store *s, const struct ebp_mapping *rows, uint32_t n);
void unwind_store_remove_rows(struct unwind_store *s, uint32_t ref, uint32_t n);

/*
 * A grace period has passed since the last call: every reader that ran then
 * has ended, and every fork told of since has been seen. What was removed before the last call
 * becomes free.
 */
void unwind_store_epoch(struct unwind_store *s);

/* Memory as step.h wants it. */
uint8_t *const *unwind_store_shards(const struct unwind_store *s, uint32_t *n);
/*
 * Bytes in use (with what waits for its epochs), bytes of that which wait, and bytes of all shards.
 */
size_t unwind_store_used(const struct unwind_store *s);
size_t unwind_store_leaving(const struct unwind_store *s);
size_t unwind_store_size(const struct unwind_store *s);
/* Bytes of all shards that there can ever be: @limit, in whole shards. */
size_t unwind_store_limit(const struct unwind_store *s);

#endif
