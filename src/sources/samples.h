/* SPDX-License-Identifier: MIT */
/* What runs: samples that a perf event or a tracepoint takes. */
#ifndef EBPROF_SAMPLES_H
#define EBPROF_SAMPLES_H

#include "proc/owners.h"
#include "sources/event_part.h"
#include "sources/source.h"

struct source_options;

/* What hits of an event count. */
struct event_filter {
	size_t event;			/* of samples_options.events */
	const char *text;
};

/* Where the time ends that a probe starts. */
struct latency_end {
	size_t start;			/* of samples_options.latency */
	const char *text;
};

struct samples_options {
	string_vec events;		/* all that were given, of which some are probes */
	VEC(struct event_filter) filters;
	string_vec latency;		/* functions whose calls are timed, or a time's start */
	VEC(struct latency_end) ends;	/* ... and ends */
	uint64_t slower;		/* ns: of such calls alone stacks are kept; 0: of all */
	string_vec counters;		/* lists of events that are counted beside it */
	const char *weight;		/* FIELD[:UNIT] of which hits are worth; NULL: none */
	const char *by;			/* FIELD by which hits are told apart; NULL: none */
	enum owner_kind owners;		/* whose processes are tells samples apart */
	const char *name;		/* of that which is sampled; NULL: we choose */
	uint64_t frequency;		/* Hz a CPU, or 0: then @period */
	uint64_t period;		/* events a sample */
	struct event event;		/* that @name is, or that was chosen */
	/* they are no values of their own: another source divides the time that it measures */
	int shares;
};

/* @o, with its event, is borrowed. */
struct source *samples_new(const struct samples_options *o);

/* Of its ops. */
int samples_check(struct source_options *o, struct stack_options *stack, struct error *e);
int samples_choose(struct source_options *o, struct source **s, struct error *e);

extern const struct source_ops samples_ops;

/* Below: for the two halves of this source. */
struct samples {
	struct source source;
	const struct samples_options *o;
	uint32_t type;			/* of the profile; PROFILE_NONE: none */
	struct event_part part;
	/* sees what the kernel skips; NULL: not of this event */
	struct bpf_program *clock_watcher;
	struct bpf_link *clock_link;
};

extern const struct collector_part_ops samples_kernel;
extern const struct feature samples_feature;

#endif
