/* SPDX-License-Identifier: MIT */
/*
 * From a profile that grows to profiles that go away: each window's, one for each service and way
 * of measuring, to each place.
 *
 * push_look() often; when a window is over push_take(), then push_send() as soon as
 * push_is_ready(). A place that cannot take a window loses it: it is counted and said, and sampling
 * goes on.
 */
#ifndef EBPROF_PUSH_H
#define EBPROF_PUSH_H

#include <stdint.h>

#include "base/error.h"
#include "base/user.h"
#include "base/vec.h"
#include "proc/remote.h"
#include "profile/profile.h"
#include "push/place.h"

/* As the user wants it. */
struct push_options {
	string_vec to;			/* places */
	uint64_t every;			/* ns; how long a window is */
	double max_overhead;		/* % of all CPUs that we may take; 0: whatever it is */
	struct place_options places;
	string_vec labels;		/* "KEY=VALUE" (labels.h) */
	string_vec labels_from;		/* "KEY=VARIABLE", or "VARIABLE" for both */
};

struct push_setup {
	const struct push_options *options;	/* must outlive it */
	const struct user *user;
	int is_time;			/* samples of a rate are of CPU time */
	uint64_t frequency;		/* Hz, that was asked for; 0: no rate was */
	int sources_bounded;		/* so are waits or allocations, by max_overhead */
};

struct push_counts {
	uint64_t windows, samples;	/* taken over */
	/* files written and their bytes; files that could not be, and their samples */
	uint64_t files, bytes, failed, failed_samples;
};

typedef VEC(struct place *) place_vec;

struct push;

/* Opens the places. NULL with @e filled. */
struct push *push_new(const struct push_setup *setup, struct error *e);
void push_free(struct push *p);
/*
 * Starts whoever sends: before there are threads, and before anything foreign is read. 0 or a
 * negative errno with @e filled.
 */
int push_start(struct push *p, struct error *e);
const place_vec *push_places(const struct push *p);

/* By which what processes publish of themselves is read; without it none of that is. */
void push_memory(struct push *p, struct remote *remote);

/* New processes of @profile: whose they are can be seen while they are there. */
void push_look(struct push *p, const struct profile *profile);
/* A window is over: @profile is complete as of now. */
void push_take(struct push *p, const struct profile *profile);
/* 1 after push_take(), until push_send(). */
int push_is_taken(const struct push *p);
/* 1 where what was taken has names. */
int push_is_ready(const struct push *p, const struct profile *profile);
/* One line on standard error where a place did not take it, and when it does again. */
void push_send(struct push *p, const struct profile *profile);
/* 1 where @profile has nothing that was not sent. */
int push_has_all(const struct push *p, const struct profile *profile);
/* Then: @profile is to take the place of @old. */
void push_renew(struct push *p, const struct profile *old, const struct profile *profile);
/* The profile was folded since push_send() (profile/profile_fold.h). */
void push_fold(struct push *p, const struct profile *profile);
/* All was given to push_send(): waits some seconds for what is still to be sent. */
void push_finish(struct push *p);
struct push_counts push_counts(const struct push *p);
/* At the end: 1 where what was sent of each type is all that @profile and those before it had. */
int push_adds_up(const struct push *p, const struct profile *profile);

#endif
