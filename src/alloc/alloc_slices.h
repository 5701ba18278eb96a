/* SPDX-License-Identifier: MIT */
/*
 * When calls of an allocator are sampled, where that may cost a part of the processes' own CPU time only.
 *
 * A probe traps whether or not its call is sampled, so probes are there for a *slice* of each *cycle*, at a place that is
 * drawn anew. Both lengths are fixed before the cycle begins: what happens in a slice never decides how much it stands
 * for, and a block allocated at any time is seen with the probability slice / cycle, so it counts cycle / slice
 * times. Costs that were not foreseen are saved in later cycles.
 *
 * In a slice the processes are slower, so what they do there is less than what they do in such a time when
 * nobody looks. How much less is known of their CPU time: a part of it were traps of calls, whose price is known. Those
 * that had time left did not do less. Traps of frees come with what they do, in slices and between them: however much
 * they cost, and whatever of that is known, they make no difference.
 *
 * Frees must all be seen for what is in use, so their probes are there always. Where these alone use up
 * the budget they are given up, for good: then only what was allocated is known.
 *
 * Plain arithmetic, without clock or system call. Times are ns.
 */
#ifndef EBPROF_ALLOC_SLICES_H
#define EBPROF_ALLOC_SLICES_H

#include <stdint.h>

#include "alloc/alloc_price.h"

struct alloc_slices {
	double budget;			/* share of the CPU time of the processes' own */
	int endless;			/* frees are not seen any more */
	double calls, ends, work;	/* a ns, lately: cost of calls in a slice; cost of ends; CPU time of their own */
	double spent, worked;		/* in all: cost; CPU time of their own */
	/*
	 * In slices, each as often as it counts, and in the time between them: lately, and ever but for the @last slice.
	 * @work is CPU time without the traps of calls.
	 */
	struct alloc_pace { double wall, cpu, work; } open, closed, open_ever, closed_ever, last;
};

struct alloc_cycle {
	uint64_t length;
	uint64_t begin, open;		/* of the slice, in the cycle; open == length: calls are always sampled */
};

/* What happened in some time. */
struct alloc_seen {
	double wall, cpu;		/* time; CPU time of the processes, with what follows */
	double calls, ends;		/* what the probes cost */
};

void alloc_slices_begin(struct alloc_slices *s, double budget, const struct alloc_load *load);
/* @where, @jitter: random, 0 to 1. */
struct alloc_cycle alloc_slices_plan(const struct alloc_slices *s, double where, double jitter);
/* A slice of a cycle is over, or time between slices, or a cycle without any end to its slice. */
void alloc_slices_open(struct alloc_slices *s, const struct alloc_cycle *cycle, const struct alloc_seen *seen);
void alloc_slices_closed(struct alloc_slices *s, const struct alloc_seen *seen);
/* 1 where the probes of frees are to be given up. */
int alloc_slices_ends_are_dear(const struct alloc_slices *s);
/* They are: no time from now on tells anything of the slices before. */
void alloc_slices_give_up(struct alloc_slices *s);
/*
 * How often a block of the last slice counts, which was @open long, of @cycle; known when the next one begins, or
 * the probes of frees are given up.
 */
double alloc_slices_scale(const struct alloc_slices *s, const struct alloc_cycle *cycle, uint64_t open);
/* The next one begins. */
void alloc_slices_age(struct alloc_slices *s);
/* The part of the CPU time in slices that probes of calls took. Where that is much, what is scaled by the rest is rough. */
double alloc_slices_traps(const struct alloc_slices *s);

#endif
