/* SPDX-License-Identifier: MIT */
/*
 * How often a block counts that a thread allocated in a slice of the time (alloc_slices.h).
 *
 * A thread is slower while it is traced, so it does less in a slice than in such a time when nobody
 * looks; and how much of a slice it runs at all is up to chance. But its calls for each second of
 * its own work - CPU time without the traps of calls - are the same in both, and its work between
 * slices is measured. So the calls of a slice stand for those of the work around it, too: of half
 * the gap before and half the gap after it, and of all that it was not met in before.
 *
 * Traps of frees come with what a thread does, in slices and between them: they make no difference.
 *
 * Plain arithmetic, without clock or system call. Times are ns.
 */
#ifndef EBPROF_ALLOC_PACE_H
#define EBPROF_ALLOC_PACE_H

#include <stdint.h>

/* What a thread did in some time. */
struct alloc_ran {
	double cpu;		/* CPU time, with its traps */
	double calls;		/* traps of calls at their entry, */
	double cost;		/* and what all traps of calls took */
};

/* Zeros at first. */
struct alloc_pace {
	double calls, work;	/* in slices, lately */
	/* work that no slice stands for yet: left from before the last slice; since it ended */
	double before, gap;
	double last;		/* calls in the last slice; 0 where it has been settled */
	double slices_cpu, slices_work;	/* in all slices */
};

/* CPU time without the traps of calls, as far as it can be distinguished from them. */
double alloc_work_of(const struct alloc_ran *ran);
/* A slice is over; or time between slices. */
void alloc_pace_open(struct alloc_pace *p, const struct alloc_ran *ran);
void alloc_pace_closed(struct alloc_pace *p, const struct alloc_ran *ran);
/*
 * How often a block of the last slice counts. Once, when the next slice begins, or with @last when
 * there is none that could stand for the time since.
 */
double alloc_pace_settle(struct alloc_pace *p, int last);
/* The same where the slice was all of the time: each counts once. */
void alloc_pace_settle_whole(struct alloc_pace *p);
/* The part of the CPU time in slices that traps of calls took. */
double alloc_pace_traps(const struct alloc_pace *p);

#endif
