/* SPDX-License-Identifier: MIT */
/*
 * How often a call counts that a thread made in a slice of the time (slices.h).
 *
 * A thread is slower while it is traced, so it does less in a slice than in such a time when nobody
 * looks; and how much of a slice it runs at all is up to chance. But its calls for each second of
 * its own work - CPU time without the traps of calls - are the same in both, and its work between
 * slices is measured. So the calls of a slice stand for those of the work around it, too: of half
 * the gap before and half the gap after it, and of all that it was not met in before.
 *
 * Traps of ends come with what a thread does, in slices and between them: they make no difference.
 *
 * Plain arithmetic, without clock or system call. Times are ns.
 */
#ifndef EBPROF_SLICES_PACE_H
#define EBPROF_SLICES_PACE_H

#include <stdint.h>

/* What a thread did in some time. */
struct slice_ran {
	double cpu;		/* CPU time, with its traps */
	double calls;		/* traps of calls at their entry, */
	double cost;		/* and what all traps of calls took */
};

/* Zeros at first. */
struct slice_pace {
	double calls, work;	/* in slices, lately */
	/* work that no slice stands for yet: left from before the last slice; since it ended */
	double before, gap;
	double last;		/* calls in the last slice; 0 where it has been settled */
	double slices_cpu, slices_work;	/* in all slices */
};

/* CPU time without the traps of calls, as far as it can be distinguished from them. */
double slice_work_of(const struct slice_ran *ran);
/* A slice is over; or time between slices. */
void slice_pace_open(struct slice_pace *p, const struct slice_ran *ran);
void slice_pace_closed(struct slice_pace *p, const struct slice_ran *ran);
/*
 * How often a call of the last slice counts. Once, when the next slice begins, or with @last when
 * there is none that could stand for the time since.
 */
double slice_pace_settle(struct slice_pace *p, int last);
/* The same where the slice was all of the time: each counts once. */
void slice_pace_settle_whole(struct slice_pace *p);
/* The part of the CPU time in slices that traps of calls took. */
double slice_pace_traps(const struct slice_pace *p);

#endif
