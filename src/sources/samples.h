/* SPDX-License-Identifier: MIT */
/* What runs: samples that a perf event or a tracepoint takes. */
#ifndef EBPROF_SAMPLES_H
#define EBPROF_SAMPLES_H

#include "sources/event_part.h"
#include "sources/source.h"

struct samples_options {
	const struct event *event;	/* borrowed */
	uint64_t frequency;		/* Hz a CPU, or 0: then @period */
	uint64_t period;		/* events a sample */
	int chosen;			/* the event is not the user's choice, but ours */
	/* they are no values of their own: another source divides the time that it measures */
	int shares;
};

struct source *samples_new(const struct samples_options *o);

extern const struct source_ops samples_ops;

/* Below: for the two halves of this source. */
struct samples {
	struct source source;
	struct samples_options o;
	uint32_t type;			/* of the profile; PROFILE_NONE: none */
	struct event_part part;
	/* sees what the kernel skips; NULL: not of this event */
	struct bpf_program *clock_watcher;
	struct bpf_link *clock_link;
};

extern const struct collector_part_ops samples_kernel;

#endif
