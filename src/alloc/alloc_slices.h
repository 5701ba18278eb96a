/* SPDX-License-Identifier: MIT */
/*
 * When calls of an allocator are sampled, where that may cost only a part of the CPU time that the
 * threads which allocate use themselves.
 *
 * A probe traps whether or not its call is sampled, so probes are there for a *slice* of each
 * *cycle*, at a place that is drawn anew. Both lengths are fixed before the cycle begins: what
 * happens in a slice never decides how much it stands for, and a block allocated at any time is
 * seen with the probability slice / cycle, so it counts cycle / slice times. Costs that were not
 * foreseen are saved in later cycles.
 *
 * Frees must all be seen for what is in use, so their probes are there always. Where these alone
 * use up the budget they are given up, for good: then only what was allocated is known.
 *
 * Plain arithmetic, without clock or system call. Times are ns.
 */
#ifndef EBPROF_ALLOC_SLICES_H
#define EBPROF_ALLOC_SLICES_H

#include <stdint.h>

#include "alloc/alloc_load.h"

struct alloc_slices {
	double budget;			/* share of the CPU time that is the threads' own */
	int endless;			/* frees are not seen any more */
	/* a ns, lately: cost of calls in a slice; cost of ends; CPU time of their own */
	double calls, ends, work;
	double spent, worked;		/* in all: cost; CPU time of their own */
};

struct alloc_cycle {
	uint64_t length;
	/* of the slice, in the cycle; open == length: calls are always sampled */
	uint64_t begin, open;
};

/* What happened in some time. */
struct alloc_seen {
	/* time; CPU time of the threads that allocate, with what follows */
	double wall, cpu;
	double calls, ends;		/* what the probes cost */
};

void alloc_slices_begin(struct alloc_slices *s, double budget, const struct alloc_load *load);
/* @where, @jitter: random, 0 to 1. */
struct alloc_cycle alloc_slices_plan(const struct alloc_slices *s, double where, double jitter);
/* A slice of a cycle is over, or time between slices, or a cycle without any end to its slice. */
void alloc_slices_open(struct alloc_slices *s, const struct alloc_seen *seen);
void alloc_slices_closed(struct alloc_slices *s, const struct alloc_seen *seen);
/* 1 where the probes of frees are to be given up. */
int alloc_slices_ends_are_dear(const struct alloc_slices *s);
/* They are. */
void alloc_slices_give_up(struct alloc_slices *s);

#endif
