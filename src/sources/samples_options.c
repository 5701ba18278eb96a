/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/perf_events.h"
#include "collect/pmu.h"
#include "collect/tracefs.h"
#include "sources/options.h"

#define AT(field) offsetof(struct samples_options, field)
#define FREQUENCY_DEFAULT 99	/* not 100: a timer that runs in step with others sees only them */
#define FREQUENCY_UNLIMITED 100000	/* -F max where the kernel names no limit: its default */

/* Of the last event, as perf has it. */
static int store_filter(const char *option, const char *text, void *field, struct error *e)
{
	struct samples_options *o = field;

	(void)option;
	if (!o->events.n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--filter stands behind the -e that it belongs to");
	vec_push(&o->filters, (struct event_filter){ o->events.n - 1, text });
	return 0;
}

/* Of the last --latency. */
static int store_end(const char *option, const char *text, void *field, struct error *e)
{
	struct samples_options *o = field;
	size_t n = o->latency.n;

	(void)option;
	if (!n || (o->ends.n && o->ends.v[o->ends.n - 1].start == n - 1))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--until stands behind the --latency that it belongs to, once");
	vec_push(&o->ends, (struct latency_end){ n - 1, text });
	return 0;
}

/* Whose a process is, or else a field. */
static int store_by(const char *option, const char *text, void *field, struct error *e)
{
	struct samples_options *o = field;

	(void)option;
	(void)e;
	o->owners = owner_kind(text);
	o->by = o->owners ? NULL : text;
	return 0;
}

const struct cli_option samples_rows[] = {
	CLI_HEADING("Event and rate"),
	{ 'F', 'r', "frequency", "HZ", cli_rate, AT(frequency),
	  "samples a second and CPU: 99 (default; push 19), 1kHz, max",
	  EBPROF_RECORD | EBPROF_TOP | EBPROF_PUSH | EBPROF_SERVE | CLI_BRIEF },
	{ 'c', 0, "period", "PERIOD", cli_count, AT(period),
	  "one sample every PERIOD events, instead of a rate", 0 },
	{ 'e', 0, "event", "EVENT", cli_strings, AT(events),
	  "an event of perf's (default cycles, else cpu-clock), or a probe",
	  EBPROF_RECORD | EBPROF_TOP | EBPROF_PUSH | EBPROF_SERVE | CLI_BRIEF },
	{ 0, 0, "filter", "EXPR", store_filter, 0,
	  "only such hits of the -e before it: 'count > 4096 && fd != 1'",
	  EBPROF_RECORD | EBPROF_TOP | EBPROF_SERVE },
	{ 0, 0, "weight", "FIELD[:UNIT]", cli_string, AT(weight),
	  "hits are worth a field of a tracepoint, argN or retval of a probe",
	  EBPROF_RECORD | EBPROF_TOP | EBPROF_SERVE },
	{ 0, 0, "by", "WHAT", store_by, 0,
	  "tell apart container, pod, unit, or hits by a field, argN or retval",
	  EBPROF_RECORD | EBPROF_ALLOC | EBPROF_TOP | EBPROF_SERVE },
	{ 0, 0, "counters", "EVENT[,EVENT...]", cli_strings, AT(counters),
	  "each sample has what these counted since the last: cycles,instructions",
	  EBPROF_RECORD },
	{ 0, 0, "latency", "PROBE", cli_strings, AT(latency),
	  "how long calls of uprobe:FILE:FUNCTION take, running and waiting; repeatable",
	  EBPROF_RECORD },
	{ 0, 0, "until", "PROBE", store_end, 0,
	  "the --latency before it goes on to this probe or tracepoint",
	  EBPROF_RECORD },
	{ 0, 0, "slower-than", "TIME", cli_duration, AT(slower),
	  "with --latency: stacks of slower calls only: 10ms", EBPROF_RECORD },
	/* An older name of --period; of top it is something else. */
	{ 0, 0, "count", "PERIOD", cli_count, AT(period), NULL, EBPROF_RECORD | EBPROF_ALLOC },
	{ 0 }
};

const struct cli_rule samples_rules[] = {
	{ .any = "slower-than", .needs = "latency", .why = "--slower-than goes with --latency" },
	{ .any = "until", .needs = "latency", .why = "--until goes with --latency" },
	{ .all = "latency", .any = "event filter weight by frequency period timeline",
	  .why = "--latency is a recording of its own; leave out -e, --filter, --weight, --by, -F, "
		 "-c and --timeline" },
	{ .all = "counters", .any = "latency off-cpu wall wakers page-faults",
	  .why = "--counters is for samples of a clock or another event; leave out what measures "
		 "otherwise" },
	{ .all = "latency", .any = "off-cpu wall",
	  .why = "--latency tells running from waiting itself; leave out --off-cpu and --wall" },
	{ .one_of = "frequency period",
	  .why = "-F and -c exclude each other: a rate, or a number of events" },
	{ 0 }
};

int samples_check(struct source_options *all, struct stack_options *stack, struct error *e)
{
	static const char sysctl[] = "/proc/sys/kernel/perf_event_max_sample_rate";
	struct samples_options *o = &all->samples;
	long most = 0;

	(void)stack;
	if (!o->frequency && !o->period)
		o->frequency = FREQUENCY_DEFAULT;
	if (o->frequency && file_read_long(sysctl, &most))
		most = 0;
	if (o->frequency == CLI_RATE_MAX)
		o->frequency = most > 0 ? (uint64_t)most : FREQUENCY_UNLIMITED;
	if (o->frequency && most > 0 && o->frequency > (uint64_t)most)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-F %llu is above this kernel's limit of %ld Hz; "
				 "lower it, or raise the limit: sudo sysctl "
				 "kernel.perf_event_max_sample_rate=%llu",
				 (unsigned long long)o->frequency, most,
				 (unsigned long long)o->frequency);
	return 0;
}

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

int samples_choose(struct source_options *all, struct source **s, struct error *e)
{
	struct samples_options *o = &all->samples;
	const struct waits_options *w = &all->waits;
	struct event *event = &o->event;
	int others = w->off_cpu || all->probes.events.n || all->probes.latency.n, err;

	if (all->page_faults || all->allocations.on || (!o->name && others))
		return 0;
	err = o->name ? parse_event(o->name, event, e)
		      : event_parse(w->wall ? "cpu-clock" : best_event(), NULL, event, e);
	if (!err)
		err = pmu_refuse_samples(event, "-e ", e);
	if (err)
		return err;
	if ((w->off_cpu || w->wall) && !event_is_software(event))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-e %s would interrupt what follows context switches; "
				 "with --off-cpu and --wall use a software event: -e cpu-clock",
				 event->name);
	/* A tracepoint has no rate of its own: every hit, as perf does, unless -c is given. */
	if (event->type == PERF_TYPE_TRACEPOINT) {
		o->frequency = 0;
		o->period = o->period ? o->period : 1;
	}
	/* As perf has it, what the event says of itself goes before the options. */
	if (event->period) {
		o->frequency = 0;
		o->period = event->period;
	}
	o->shares = w->wall;
	*s = samples_new(o);
	return 0;
}
