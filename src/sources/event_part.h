/* SPDX-License-Identifier: MIT */
/*
 * The kernel side of a source whose samples are taken by a perf event: one program on the event, or
 * on a tracepoint, on all CPUs that are wanted. The functions are those of struct
 * collector_part_ops.
 */
#ifndef EBPROF_EVENT_PART_H
#define EBPROF_EVENT_PART_H

#include "collect/collector.h"
#include "collect/event.h"
#include "collect/perf_events.h"

struct bpf_program;

struct event_part {
	const struct event *event;	/* borrowed */
	uint64_t frequency;		/* Hz a CPU, or 0: then @period */
	uint64_t period;		/* events a sample */
	uint64_t sample_type;		/* what the kernel is to find out beside, PERF_SAMPLE_* */
	struct bpf_program *program;	/* of the skeleton; set in configure() */
	unsigned long spread_ns;	/* the starts of all CPUs lie within this */
	struct perf_events *events;
};

uint64_t event_part_rate(const struct event_part *p, size_t ncpus);
/* @program is loaded, and runs for the event. */
void event_part_configure(struct event_part *p, struct bpf_program *program);
/* Makes sure that the event can be had, while the reason of a failure can be found out. */
int event_part_open(struct event_part *p, const struct collector_options *o, struct error *e);
int event_part_attach(struct event_part *p, struct error *e);
/* Another rate, where there is one: Hz a CPU. */
void event_part_set_frequency(struct event_part *p, uint64_t frequency);
int event_part_succeed(struct event_part *p, const int *fds);
void event_part_settle(struct event_part *p, int succeeded);
void event_part_refresh_cpus(struct event_part *p);
size_t event_part_cpus(const struct event_part *p);
/* Hits that the kernel did not give to the program (collector_part_ops.skipped). */
uint64_t event_part_skipped(const struct event_part *p);
void event_part_stop(struct event_part *p);
void event_part_close(struct event_part *p);

#endif
