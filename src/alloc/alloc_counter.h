/* SPDX-License-Identifier: MIT */
/*
 * The cheapest program there is on functions, an allocator's or others, and on events of the
 * kernel: it counts the calls, or hits, of each thread.
 */
#ifndef EBPROF_ALLOC_COUNTER_H
#define EBPROF_ALLOC_COUNTER_H

#include <stdint.h>
#include <sys/types.h>

#include "alloc/alloc_load.h"

/* Descriptors. */
struct alloc_counter { int map, program; };

/* What its program is for. */
enum alloc_counter_kind {
	COUNTER_FUNCTION,	/* uprobe_link(), Linux 6.6 */
	COUNTER_KPROBE,		/* event_link(), Linux 5.15 */
	COUNTER_TRACEPOINT,
};

/* 0 or a negative errno; to be closed even then. The cookie of a link is an enum alloc_slot. */
int alloc_counter_open(struct alloc_counter *c, enum alloc_counter_kind kind);
void alloc_counter_close(struct alloc_counter *c);
/* The calls of thread @tid so far; zeros where it has made none. The idle ones are not counted. */
void alloc_counter_get(const struct alloc_counter *c, pid_t tid, uint64_t calls[ALLOC_SLOTS]);
/*
 * The thread that follows *@tid among those that have made calls; begins with 0. 0: there is no
 * other.
 */
int alloc_counter_next(const struct alloc_counter *c, pid_t *tid);

#endif
