/* SPDX-License-Identifier: MIT */
/*
 * The threads whose calls are probed in slices, each with a pace of its own (pace.h).
 *
 * At each change from slice to gap and back the kernel lists all threads (struct
 * ebp_sliced_thread).
 * Those that have exited meanwhile are as one, thread 0: what they did is what the processes' CPU
 * time and calls have beside those of the others.
 */
#ifndef EBPROF_SLICES_THREADS_H
#define EBPROF_SLICES_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/ebprof.h"
#include "slices/pace.h"
#include "slices/slices.h"

struct slice_threads;

struct slice_threads *slice_threads_new(void);
void slice_threads_free(struct slice_threads *t);

/* One look: each thread that is listed, and then what it was of. */
void slice_threads_list(struct slice_threads *t, const struct ebp_sliced_thread *thread);

/* What passed since the last look. */
struct slice_passed {
	double wall;		/* ns */
	/*
	 * traps of calls at their entry, in all; what each took, but for what threads have in
	 * @spent of it
	 */
	double calls, call_ns;
	double cost;		/* ns that all of them took */
	double each_ns;		/* what one took of a thread that has exited, with our programs */
	double ends;		/* ns that the probes of frees took */
	/* @exited is known: ns of CPU time of all threads that have exited, since they began */
	int knows_exited;
	double exited;
	int open;		/* it was a slice */
};

/*
 * How much of the work of a thread that made @calls counts, where the busiest one made @most: 0 to
 * 1. In full from a tenth of these on, and in proportion below.
 */
double slice_threads_weight(double calls, double most);
/* What the threads did that call, as far as they do (slice_threads_weight()). */
struct slices_seen slice_threads_look(struct slice_threads *t, const struct slice_passed *passed);
/*
 * In its place, where not all threads could be listed: what they did until the next look is not
 * known.
 */
void slice_threads_miss(struct slice_threads *t);
/* No slice stands for what threads did so far: it is over, or what they do now will differ. */
void slice_threads_forget(struct slice_threads *t);

/* How often the calls of each thread count that are of one slice. */
struct slice_scales {
	double mean;		/* of all calls of the slice */
	double others;		/* of threads that are not listed */
	struct slice_scale { uint32_t tid; double times; } *v;	/* ascending; malloc'd */
	size_t n;
};

/* The last slice has its scales: slice_pace_settle(). To be freed. */
struct slice_scales slice_threads_settle(struct slice_threads *t, int last);
/* The same where it was all of the time: slice_pace_settle_whole(). */
void slice_threads_settle_whole(struct slice_threads *t);
double slice_scales_of(const struct slice_scales *s, uint32_t tid);
/*
 * The part of the CPU time in slices that traps took, of the threads that sums are of; and how far
 * these sums may be from the truth, as a share of it: what a trap takes is not known exactly, and
 * slices are few and differ.
 */
double slice_threads_traps(const struct slice_threads *t);
double slice_threads_error(const struct slice_threads *t);
/*
 * Calls for which no slice stands, though it is known that there were some: as a share of all that
 * slices stand for.
 */
double slice_threads_owed(const struct slice_threads *t);

#endif
