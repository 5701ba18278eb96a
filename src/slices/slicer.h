/* SPDX-License-Identifier: MIT */
/*
 * Carries out the slices of --max-overhead (slices.h): sets probes and takes them away when it is
 * time, measures what the threads did, and tells how often a call counts. All take NULL: all is
 * probed.
 */
#ifndef EBPROF_SLICES_SLICER_H
#define EBPROF_SLICES_SLICER_H

#include <stdint.h>
#include <sys/types.h>

#include "slices/slices.h"
#include "slices/thread_list.h"
#include "slices/threads.h"

struct slicer;

/* The probes that it sets. */
struct slicer_ops {
	/*
	 * Calls count from here on; 0 or a negative errno: some are not set. Or none does, and
	 * none traps any more when it returns.
	 */
	int (*resume)(void *ctx);
	void (*pause)(void *ctx);
	/* What follows is of window @number; before resume(). NULL: nobody asks. */
	void (*number)(void *ctx, uint32_t number);
	/* All threads that may call. 0 or a negative errno: then some may be missing. */
	int (*threads)(void *ctx, thread_list_entry *fn, void *fn_ctx);
	/* What the probes did since the last time it was asked: all but wall and open. */
	void (*passed)(void *ctx, int endless, struct slice_passed *p);
	/* Pauses, and takes the probes of ends away for good. NULL: there are none. */
	void (*give_up_ends)(void *ctx);
};

struct slicer_result {
	uint64_t slices;		/* 0: there were none */
	/* times that probes could not be set again: what was called then is missing */
	uint64_t failed;
	/* ns that calls were probed, in slices and in cycles that had no end to them */
	uint64_t open;
	int all;			/* it was never necessary to take the probes away */
	int endless;			/* ends were not seen, or not all the time */
	/* the part that probes took in slices of the CPU time of threads that call */
	double traps;
	/* by such a share of the truth the sums may be wrong: by that, and by chance */
	double error;
	/* cost of all probes, as a share of the CPU time that these threads use themselves */
	double overhead;
};

/*
 * Begins the first cycle. @slices: as slices_begin() left it; @open: the probes are set, and calls
 * count. @ops and @ctx are borrowed.
 */
struct slicer *slicer_new(const struct slicer_ops *ops, void *ctx, const struct slices *slices,
			  int open);
void slicer_free(struct slicer *s);

/* The time of the next change, or @until where that comes first; it is made by slicer_turn(). */
uint64_t slicer_until(const struct slicer *s, uint64_t until);
void slicer_turn(struct slicer *s, uint64_t now);
/* The end of the last slice. */
void slicer_stop(struct slicer *s);

/*
 * Slices, and times without an end to them, are windows, numbered from 1 on. That of @time; 0:
 * there was none.
 */
uint32_t slicer_window(const struct slicer *s, uint64_t time);
/* The last one. */
uint32_t slicer_last(const struct slicer *s);
/* 1 where it is not known yet how often a call of @window counts: the next one has not begun. */
int slicer_holds(const struct slicer *s, uint32_t window);
/*
 * How often it counts, if thread @tid made it; and on the average. Of the last hundred windows; of
 * others it is 1.
 */
double slicer_scale(const struct slicer *s, uint32_t window, uint32_t tid);
double slicer_mean(const struct slicer *s, uint32_t window);
/* After the end: what no slice stands for, as a share of all that was counted. */
double slicer_owed(const struct slicer *s);
/* 1 where ends are not seen, or not any more. */
int slicer_endless(const struct slicer *s);
void slicer_tell(const struct slicer *s, struct slicer_result *r);

#endif
