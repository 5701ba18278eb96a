/* SPDX-License-Identifier: MIT */
/*
 * A source: one way of measuring. A recording has one or more of them, each an object that begins
 * with a struct source. What it can do stands in its struct source_ops, one row of source_table
 * (sources.h); a function that it does not need is NULL.
 *
 * Life: check(), choose(), prepare(); begin(), then what struct collector_part_ops has for the
 * kernel, with the source as its context; started(); records and counts, process events and turns;
 * stopping(); the last records; finish(), complete(), summary(); free().
 */
#ifndef EBPROF_SOURCE_H
#define EBPROF_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/ebprof.h"
#include "collect/collector.h"
#include "collect/event.h"
#include "collect/features.h"
#include "collect/sideband.h"
#include "profile/profile.h"
#include "profile/summary.h"
#include "profile/timeline.h"

#define SOURCE_ENVIRONMENT_MAX 3

/* What a session offers to its sources. */
struct source_host {
	struct profile *profile;
	struct collector *collector;	/* from started() on */
	struct timeline *timeline;	/* times of samples are kept here; NULL: they are not; */
	uint64_t origin;		/* they are counted from here (CLOCK_MONOTONIC ns) */
	int per_thread;
	uint32_t types;			/* that the profile has, source_type() counts */
	/* set by a source: stacks are taken at a tracepoint, and begin where it was hit */
	int at_tracepoint;
	/* The profile's sample for @key; its process was there at @time. */
	uint32_t (*sample)(void *ctx, const struct ebp_key *key, uint64_t time);
	/* Of what was taken @n were kept, as @sample; or one, which @key is for. */
	void (*kept)(void *ctx, uint32_t sample, uint64_t n);
	void (*kept_key)(void *ctx, const struct ebp_key *key);
	/* 1 where the stack of that id is known, or @id is 0: there is none. */
	int (*knows)(void *ctx, uint64_t id);
	/* Below @node: a frame that is only a text, a stack with its leaf first. */
	uint32_t (*mark)(void *ctx, uint32_t node, const char *text);
	uint32_t (*turned_stack)(void *ctx, uint32_t node, uint64_t id);
	/* The lock of an interpreter that a thread waits for at stack @id, or NULL. */
	const char *(*lock)(void *ctx, uint64_t id);
	/* A thread ran, @n times in @sample: all sources are told by ran(). */
	void (*ran)(void *ctx, const struct ebp_key *key, uint32_t sample, uint64_t n);
	/* In fold(): 1 where the process is forgotten. */
	int (*is_over)(void *ctx, const struct ebp_process *process);
	void *ctx;
};

/* What was counted for one key. */
struct source_count {
	const struct ebp_key *key;
	struct ebp_count count;
	uint64_t time;		/* its process was there then */
	int timed;		/* one sample, taken at @time; an interval, which began then */
	uint32_t cpu;		/* on which it was */
};

/* What is known before anything is loaded, while we may still do what needs privileges. */
struct source_setup {
	const struct target_options *target;	/* borrowed, for as long as the source lives */
	/* processes or threads: those of @target, and behind @forked what these have forked */
	const pid_t *ids;
	size_t nids, forked;
	/* whose files are meant by their names: those, or else those of the cgroup */
	const pid_t *members;
	size_t nmembers;
	FILE *notes;	/* for what the user should know at once; NULL: nothing */
};

struct source;
struct source_options;

struct source_ops {
	const char *name;
	const struct collector_part_ops *kernel;
	/* What doctor says of its programs; NULL: all kernels that can sample have them. */
	const struct feature *feature;
	/*
	 * Nothing of it may be left out because it is late, as the end of a block, whose lack would
	 * look like a leak.
	 */
	int whole;
	/* It keeps numbers of the profile's samples, which must stay what they are. */
	int keeps_samples;
	/* It keeps nothing of the profile, so begin() may be called again, with a new one. */
	int renews;

	/*
	 * Of all options (options.h), of which no rule is broken: fills in what was not given.
	 * Then the source itself in *@s, where they ask for it. Both return 0, or a negative errno
	 * with @e filled; so does prepare().
	 */
	int (*check)(struct source_options *o, struct stack_options *stack, struct error *e);
	int (*choose)(struct source_options *o, struct source **s, struct error *e);
	int (*prepare)(struct source *s, const struct source_setup *setup, struct error *e);
	/*
	 * Malloc'd "NAME=VALUE" texts for the environment of the command that is the target, the
	 * last one NULL. Of one source.
	 */
	void (*environment)(const struct source *s, char *env[SOURCE_ENVIRONMENT_MAX]);
	/* 1 where it costs little to keep times, so it is done unasked; without the function 0. */
	int (*keeps_times)(const struct source *s);
	/* Its samples are of this event; without the function, of none that has a name. */
	const struct event *(*event)(const struct source *s);

	/* Describes itself in the profile, which is new: types, event, rate. */
	void (*begin)(struct source *s, struct source_host *host);
	/* The programs run. */
	void (*started)(struct source *s);
	/* A record of the ring buffer: 1 where it was one of its own. */
	int (*record)(struct source *s, const struct ebp_head *head);
	/* A count, or a sample by itself: the same. */
	int (*count)(struct source *s, const struct source_count *c);
	/* All records that there are have been taken; at the @last time there are no more. */
	void (*flush)(struct source *s, int last);
	/* Another source counted @n samples of a thread that ran. */
	void (*ran)(struct source *s, const struct ebp_key *key, uint32_t sample, uint64_t n);
	void (*process_event)(struct source *s, const struct sideband_event *event);
	/* When it wants its next turn (CLOCK_MONOTONIC ns), and that turn. */
	uint64_t (*next_turn)(const struct source *s);
	void (*turn)(struct source *s, uint64_t now);
	/* Takes samples at another rate, Hz a CPU, where it has one; the profile says so. */
	void (*set_frequency)(struct source *s, uint64_t frequency);
	/* The programs are about to be stopped. */
	void (*stopping)(struct source *s);

	/*
	 * How a sample looks: the innermost frames of @key's stacks that are left out, one by one;
	 */
	int (*hides)(const struct source *s, const struct ebp_key *key, uint32_t location);
	/* what lies on its stacks (@node is their leaf), and its set of labels. */
	uint32_t (*leaf)(struct source *s, const struct ebp_key *key, uint32_t node);
	uint32_t (*labels)(struct source *s, const struct ebp_key *key);

	/* The profile is looked at now: its values are made what they should be. */
	void (*update)(struct source *s);
	/*
	 * Processes were folded (profile/profile_fold.h): @samples has the new number of each
	 * sample, UINT32_MAX for those whose process is over.
	 */
	void (*fold)(struct source *s, const uint32_t *samples);
	/*
	 * At the end, @stopped (CLOCK_MONOTONIC ns): what had to wait for it; sampling began
	 * @began.
	 */
	void (*finish)(struct source *s, uint64_t began, uint64_t stopped);
	/* All sources have finished. */
	void (*complete)(struct source *s);
	/* Adds what the user should know of how it was measured. */
	void (*summary)(const struct source *s, struct summary *rows);
	void (*free)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	struct source_host *host;	/* from begin() on; borrowed */
};

/* Adds a type of values to the profile; the first one takes the place of that of a new profile. */
uint32_t source_type(struct source *s, const char *name, const char *unit);
/* Adds @value of @type to @sample; nothing where @type is PROFILE_NONE. */
void source_add(struct source *s, uint32_t sample, uint32_t type, uint64_t value);
/*
 * Keeps when @sample was, where that is wanted and known: a span of @span ns from @c->time on, or a
 * moment of that @value.
 */
void source_tick(struct source *s, const struct source_count *c, uint32_t sample, uint64_t value,
		 uint64_t span);

#endif
