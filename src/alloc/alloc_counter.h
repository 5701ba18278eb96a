/* SPDX-License-Identifier: MIT */
/*
 * The cheapest program there is on the functions of an allocator: it counts the calls of each
 * thread. Linux 6.6, as uprobe_link().
 */
#ifndef EBPROF_ALLOC_COUNTER_H
#define EBPROF_ALLOC_COUNTER_H

#include <stdint.h>
#include <sys/types.h>

#include "alloc/alloc_load.h"

/* Descriptors. */
struct alloc_counter { int map, program; };

/*
 * 0 or a negative errno; to be closed even then. The program is for uprobe_link(), with an enum
 * alloc_slot as cookie.
 */
int alloc_counter_open(struct alloc_counter *c);
void alloc_counter_close(struct alloc_counter *c);
/* The calls of thread @tid so far; zeros where it has made none. */
void alloc_counter_get(const struct alloc_counter *c, pid_t tid, uint64_t calls[ALLOC_SLOTS]);
/*
 * The thread that follows *@tid among those that have made calls; begins with 0. 0: there is no
 * other.
 */
int alloc_counter_next(const struct alloc_counter *c, pid_t *tid);

#endif
