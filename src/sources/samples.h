/* SPDX-License-Identifier: MIT */
/* What runs: samples that a perf event or a tracepoint takes. */
#ifndef EBPROF_SAMPLES_H
#define EBPROF_SAMPLES_H

#include "collect/collector.h"
#include "sources/event_part.h"

struct samples {
	struct event_part part;
	/* sees what the kernel skips; NULL: not of this event */
	struct bpf_program *clock_watcher;
	struct bpf_link *clock_link;
};

/* Their context is a struct samples, of which @part.event, .frequency and .period are filled. */
extern const struct collector_part_ops samples_kernel;

#endif
