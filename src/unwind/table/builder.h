/* SPDX-License-Identifier: MIT */
/*
 * A pool of threads that builds unwind tables. What is waited for by most samples is
 * built first. All functions are for one thread, the owner's.
 */
#ifndef EBPROF_UNWIND_TABLE_BUILDER_H
#define EBPROF_UNWIND_TABLE_BUILDER_H

#include <stdint.h>

#include "unwind/table/table.h"

#define UNWIND_FD_VDSO	(-1)	/* in place of a file: our own vDSO */

struct unwind_builder;

struct unwind_built {
	uint32_t id;
	int err;			/* 0, or why there is no table: a negative errno */
	struct unwind_table table;	/* the taker frees it, where !err */
	uint64_t ns;			/* that building took */
};

/* @threads: at most; none is started before there is work. NULL with errno. */
struct unwind_builder *unwind_builder_new(unsigned threads);
/* Waits for what is just being built; what is queued is dropped. Takes NULL. */
void unwind_builder_free(struct unwind_builder *b);

/*
 * Queues @id, whose file is @fd (borrowed until it is built) of @size bytes. An id is queued once
 * at a time.
 */
void unwind_builder_add(struct unwind_builder *b, uint32_t id, int fd, uint64_t size);
/* One more sample waits for @id. */
void unwind_builder_want(struct unwind_builder *b, uint32_t id);

/* Readable while something that was built has not been taken, and sometimes once after. */
int unwind_builder_fd(const struct unwind_builder *b);
/* 1 with @out filled, 0: nothing (more) is ready. */
int unwind_builder_take(struct unwind_builder *b, struct unwind_built *out);

#endif
