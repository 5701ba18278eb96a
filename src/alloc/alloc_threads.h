/* SPDX-License-Identifier: MIT */
/*
 * The threads of the processes whose allocations are sampled in slices, each with a pace of its own
 * (alloc_pace.h).
 *
 * At each change from slice to gap and back the kernel lists all threads (struct ebp_alloc_thread).
 * Those that have exited meanwhile are as one, thread 0: what they did is what the processes' CPU
 * time and calls have beside those of the others.
 */
#ifndef EBPROF_ALLOC_THREADS_H
#define EBPROF_ALLOC_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "alloc/alloc_pace.h"
#include "alloc/alloc_slices.h"
#include "bpf/ebprof.h"

struct alloc_threads;

struct alloc_threads *alloc_threads_new(void);
void alloc_threads_free(struct alloc_threads *t);

/* One look: each thread that is listed, and then what it was of. */
void alloc_threads_list(struct alloc_threads *t, const struct ebp_alloc_thread *thread);

/* What passed since the last look. */
struct alloc_passed {
	double wall;		/* ns */
	/* traps of calls at their entry, in all; what each took, with all that belongs to it */
	double calls, call_ns;
	double ends;		/* ns that the probes of frees took */
	int open;		/* it was a slice */
};

/* What the threads did that allocate, as far as they do (alloc_load_weight()). */
struct alloc_seen alloc_threads_look(struct alloc_threads *t, const struct alloc_passed *passed);
/*
 * In its place, where not all threads could be listed: what they did until the next look is not
 * known.
 */
void alloc_threads_miss(struct alloc_threads *t);
/* No slice stands for what threads did so far: it is over, or what they do now will differ. */
void alloc_threads_forget(struct alloc_threads *t);

/* How often the blocks of each thread count that are of one slice. */
struct alloc_scales {
	double others;		/* of threads that are not listed */
	struct alloc_scale { uint32_t tid; double times; } *v;	/* ascending; malloc'd */
	size_t n;
};

/* The last slice has its scales: alloc_pace_settle(). To be freed. */
struct alloc_scales alloc_threads_settle(struct alloc_threads *t, int last);
/* The same where it was all of the time: alloc_pace_settle_whole(). */
void alloc_threads_settle_whole(struct alloc_threads *t);
double alloc_scales_of(const struct alloc_scales *s, uint32_t tid);
/*
 * The part of the CPU time in slices that traps took, of the threads that sums are of; and how far
 * these sums may be from the truth, as a share of it: what a trap takes is not known exactly, and
 * slices are few and differ.
 */
double alloc_threads_traps(const struct alloc_threads *t);
double alloc_threads_error(const struct alloc_threads *t);
/*
 * Calls for which no slice stands, though it is known that there were some: as a share of all that
 * slices stand for.
 */
double alloc_threads_owed(const struct alloc_threads *t);

#endif
