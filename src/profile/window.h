/* SPDX-License-Identifier: MIT */
/*
 * A profile that grows, seen from another thread: a copy of it, and what its values
 * were a while ago, so that the last seconds can be shown alone.
 *
 * live_update() is for the thread that samples; it copies, and never waits: where the
 * other one has the copy, it leaves it for the next time. All else is for the one that shows.
 * Of each update what changed is kept until the window is over, so memory grows with
 * the samples in the window; the copy grows with the distinct stacks since the start. A profile
 * that is folded meanwhile shows the same samples, whoever they are of by then.
 */
#ifndef EBPROF_LIVE_H
#define EBPROF_LIVE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile_fold.h"
#include "tui/shown.h"

struct live;

/* @window: ns. NULL with errno. */
struct live *live_new(uint64_t window);
void live_free(struct live *l);

/*
 * 1 where it has all of @p now, and profile_fold() may follow; 0: it is as it was.
 * Between two updates that returned 1 a profile is folded once at most.
 */
int live_update(struct live *l, const struct profile *p);

/* Readable when there was an update; live_clear() makes it quiet again. */
int live_fd(const struct live *l);
void live_clear(struct live *l);

/* What happened in one step between two updates, for a line of bars. */
struct live_step {
	double busy;		/* of all CPUs' samples that were possible: 0 to 1 */
	uint64_t taken, lost, truncated;
};

/* What is shown, and how it came to be. */
struct live_show {
	struct profile *profile;	/* the caller's; of what the choice says */
	uint64_t span;			/* ns that its samples are of */
	uint64_t since_start;		/* ns of sampling until now */
	uint64_t taken, lost, truncated;	/* in the span */
	uint32_t type, ntypes;		/* which of its types the profile has, of how many */
	/* values are those of now: the span is all the time, whatever was asked for */
	int level;
	/* samples are taken at a rate, so their number tells how busy CPUs are */
	int rate;
};

/* @since_start: all samples, else those of the window; but a level has none. */
struct live_show live_show(struct live *l, int since_start, const struct shown_choice *c);
/* ns of sampling until now. */
uint64_t live_duration(struct live *l);
/* The last steps, at most @n, the newest last. Returns how many. */
size_t live_steps(struct live *l, struct live_step *steps, size_t n);

#endif
