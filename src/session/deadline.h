/* SPDX-License-Identifier: MIT */
/*
 * A recording ends in time. Where more is sampled than can be worked on, seconds of it may wait
 * when the end comes: that is worked on for a moment only, and what then is left is lost.
 */
#ifndef EBPROF_DEADLINE_H
#define EBPROF_DEADLINE_H

#include <stdint.h>

struct deadline {
	int signals;		/* a descriptor: what it says is an end */
	uint64_t end;		/* CLOCK_MONOTONIC ns; UINT64_MAX: not known */
	uint64_t seen;		/* when it was first seen that the end has come; 0: not yet */
	uint64_t seen_cpu;	/* CPU time of this thread then, ns */
	uint64_t late;		/* ns that we had since then */
	uint32_t asked;
};

/* The end is at @end, or when a signal comes, whichever is first. */
void deadline_set(struct deadline *d, int signals, uint64_t end);
/* It has come, for another reason perhaps. */
void deadline_end(struct deadline *d, uint64_t now);
/*
 * 1 where we have worked on for more than @ns since the end came; cheap enough to be asked for each
 * record. That time begins with the first question, so that who was stopped meanwhile has all of
 * it. What counts is the CPU time of this thread, which others may have kept from running for
 * seconds, but a quarter of the time that passed at least.
 */
int deadline_passed(struct deadline *d, uint64_t ns);

#endif
