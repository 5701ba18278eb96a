/* SPDX-License-Identifier: MIT */
/*
 * A profile that grows, seen from another thread: a copy of it, and what its values
 * were a while ago, so that the last seconds can be shown alone.
 *
 * window_update() is for the thread that samples; it copies, and never waits: where the
 * other one has the copy, it leaves it for the next time. So is window_finish(), which waits. All
 * else is for the one that shows.
 * Of each update what changed is kept until the window is over, so memory grows with
 * the samples in the window; the copy grows with the distinct stacks of the profile. A profile
 * that is folded meanwhile shows the same samples, whoever they are of by then. One that becomes
 * too large is renewed: of what came before the last window only functions are known from then on.
 */
#ifndef EBPROF_WINDOW_H
#define EBPROF_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "profile/part.h"
#include "profile/profile.h"

struct window;

/* @span: ns that the window is long. NULL with errno. */
struct window *window_new(uint64_t span);
void window_free(struct window *w);

/*
 * 1 where it has all of @p now, and profile_fold() may follow; 0: it is as it was.
 * Between two updates that returned 1 a profile is folded once at most.
 */
int window_update(struct window *w, const struct profile *p);
/* The last update, once sampling is over: waits for whoever has the copy. */
void window_finish(struct window *w, const struct profile *p);

/*
 * After an update that returned 1, and before profile_fold(): 1 where the next profile is another
 * one of the same types, which has nothing from before but the account and, of processes that still
 * run, their numbers. 0: not now, for the last one is still in the window; it is as it was.
 */
int window_renew(struct window *w);

/* Readable when there was an update; window_clear() makes it quiet again. */
int window_fd(const struct window *w);
void window_clear(struct window *w);

/* What happened in one step between two updates, for a line of bars. */
struct window_step {
	double busy;		/* of all CPUs' samples that were possible: 0 to 1 */
	uint64_t taken, lost, truncated;
};

/* What is shown, and how it came to be. */
struct window_show {
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
struct window_show window_show(struct window *w, int since_start, const struct part_choice *c);
/* ns of sampling until now. */
uint64_t window_duration(struct window *w);
/* The last steps, at most @n, the newest last. Returns how many. */
size_t window_steps(struct window *w, struct window_step *steps, size_t n);

#endif
