/* SPDX-License-Identifier: MIT */
/*
 * When calls of functions trap, where that may cost only a part of the CPU time that the threads
 * which call them use themselves.
 *
 * A probe traps whether or not its call is sampled, so probes are there for a *slice* of each
 * *cycle*, at a place that is drawn anew. Both lengths are fixed before the cycle begins: what
 * happens in a slice never decides how much it stands for, and a call at any time is seen with the
 * probability slice / cycle, so it counts cycle / slice times. Costs that were not foreseen are
 * saved in later cycles.
 *
 * An allocator's frees must all be seen for what is in use, so their probes are there always. Where
 * these *ends* alone use up the budget they are given up, for good: then only what was allocated is
 * known.
 *
 * Plain arithmetic, without clock or system call. Times are ns.
 */
#ifndef EBPROF_SLICES_H
#define EBPROF_SLICES_H

#include <stdint.h>

struct slices {
	double budget;			/* share of the CPU time that is the threads' own */
	int endless;			/* frees are not seen any more */
	/* a ns, lately: cost of calls in a slice; cost of ends; CPU time of their own */
	double calls, ends, work;
	double spent, worked;		/* in all: cost; CPU time of their own */
	double whole;			/* ns of a cycle that is all slice; 0: as long as others */
};

struct slices_cycle {
	uint64_t length;
	/* of the slice, in the cycle; open == length: calls are always sampled */
	uint64_t begin, open;
};

/* What happened in some time. */
struct slices_seen {
	/* time; CPU time of the threads that call, with what follows */
	double wall, cpu;
	double calls, ends;		/* what the probes cost */
};

/* What is known before, for each ns of CPU time that the threads use themselves. */
struct slices_costs {
	double calls, ends;
	double all_calls;	/* of calls where ends are not seen */
	int unknown;		/* @calls is: a slice may cost all of its time */
};

void slices_begin(struct slices *s, double budget, const struct slices_costs *costs);
/* @where, @jitter: random, 0 to 1. */
struct slices_cycle slices_plan(const struct slices *s, double where, double jitter);
/* A slice of a cycle is over, or time between slices, or a cycle without any end to its slice. */
void slices_open(struct slices *s, const struct slices_seen *seen);
void slices_closed(struct slices *s, const struct slices_seen *seen);
/* 1 where the probes of frees are to be given up. */
int slices_ends_are_dear(const struct slices *s);
/* They are. */
void slices_give_up(struct slices *s);

#endif
