/* SPDX-License-Identifier: MIT */
#include "commands/event_choice.h"

#include <errno.h>
#include <unistd.h>

#include "collect/perf_events.h"
#include "collect/tracefs.h"
#include "sources/page_faults.h"

/* The event that the user names. */
static int parse_event(const char *name, struct event *event, struct error *e)
{
	struct tracefs t;
	int err;

	tracefs_open(&t);
	err = event_parse(name, tracefs_events(&t), event, e);
	tracefs_close(&t);
	return err;
}

/* Hardware cycles where they can be had: they tick with the work, and their pc has no skid. */
static const char *best_event(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd = perf_event_open(&attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? "cycles" : "cpu-clock";
}

int event_choose(struct record_options *o, struct event *event, struct error *e)
{
	int err;

	if (o->page_faults) {
		*event = page_faults_event;
		return 1;
	}
	if (o->alloc || (!o->event && o->off_cpu))
		return 0;
	err = o->event ? parse_event(o->event, event, e)
		       : event_parse(o->wall ? "cpu-clock" : best_event(), NULL, event, e);
	if (err)
		return err;
	if ((o->off_cpu || o->wall) && !event_is_software(event))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-e %s would interrupt what follows context switches; "
				 "with --off-cpu and --wall use a software event: -e cpu-clock",
				 event->name);
	/* A tracepoint has no rate of its own: every hit, as perf does, unless -c is given. */
	if (event->type == PERF_TYPE_TRACEPOINT) {
		o->frequency = 0;
		o->period = o->period ? o->period : 1;
	}
	return 1;
}
