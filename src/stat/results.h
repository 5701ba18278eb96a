/* SPDX-License-Identifier: MIT */
/* All that `ebprof stat` has measured, run by run, until it is shown. */
#ifndef EBPROF_RESULTS_STAT_H
#define EBPROF_RESULTS_STAT_H

#include "base/vec.h"
#include "stat/counters.h"
#include "stat/parts.h"
#include "stat/run.h"
#include "stat/series.h"
#include "stat/topdown.h"

struct stat_results {
	VEC(struct measure) measures;	/* the time that passed first, then events, then shares */
	size_t own;			/* of them are before the events, */
	size_t events;			/* and so many are events; what @topdown needs follows */
	struct topdown topdown;		/* n 0: none */
	size_t done;			/* runs of each side */
	enum tally_by by;		/* how counts are told apart, */
	const char *controller;		/* in which hierarchy (tally.h); borrowed, */
	struct stat_parts parts;	/* and what they are */
	int user_only;			/* what happened in the kernel is not counted */
	int lost;			/* there were too many to tell them apart */
};

/*
 * @r is all zeros, but for how counts are told apart and the top-down method. The names of @events
 * (@n, without those of that method) stay borrowed.
 */
void stat_results_begin(struct stat_results *r, const struct event *events, size_t n,
			int of_command);
/* Of what runs already: it took @elapsed ns. */
void stat_results_add_time(struct stat_results *r, uint64_t elapsed);
void stat_results_add_run(struct stat_results *r, const struct run *run, int side);
void stat_results_add_counts(struct stat_results *r, struct counters *c, int side);
/*
 * No more comes: pairs of runs of which one was not finished do not count. Where @drop_absent,
 * events that cannot be counted have no rows. Shares that cannot be had never have rows.
 */
void stat_results_end(struct stat_results *r, int drop_absent);
void stat_results_free(struct stat_results *r);

#endif
