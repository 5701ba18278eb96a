/* SPDX-License-Identifier: MIT */
#include "sources/event_part.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "collect/features.h"

#define SPREAD_MAX_NS	10000000ul
#define PERIOD_RATE	10000		/* samples a second and CPU, where no rate is given */

uint64_t event_part_rate(const struct event_part *p, size_t ncpus)
{
	return (p->frequency ? p->frequency : PERIOD_RATE) * ncpus;
}

static unsigned long spread_of(uint64_t frequency)
{
	return 1000000000ul / frequency < SPREAD_MAX_NS ? 1000000000ul / frequency : SPREAD_MAX_NS;
}

void event_part_configure(struct event_part *p, struct bpf_program *program)
{
	p->program = program;
	bpf_program__set_autoload(program, true);
	if (p->event->type != PERF_TYPE_TRACEPOINT && p->frequency)
		p->spread_ns = spread_of(p->frequency);
}

int event_part_open(struct event_part *p, const struct collector_options *o, struct error *e)
{
	const struct target_options *target = o->target;
	struct perf_event_attr attr = event_attr(p->event, p->frequency, p->period,
						 target->include_idle);
	int first = 0, program = bpf_program__fd(p->program), err;

	attr.sample_type |= p->sample_type;
	/*
	 * A program on a tracepoint runs for its hits on all CPUs, once for each
	 * event it is set on: one event is right, config.filter.cpus does the rest.
	 */
	if (p->event->type == PERF_TYPE_TRACEPOINT)
		p->events = perf_events_new(&attr, 0, &first, 1, program);
	else
		p->events = perf_events_new(&attr, p->event->also, target->cpus.v, target->cpus.n,
					    program);
	perf_events_set_pmu(p->events, p->event);
	err = perf_events_try(p->events);
	if (*p->event->pmu && (err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP))
		return error_set(e, STATUS_DENIED, err,
				 "cannot sample by %s: PMU %s does not interrupt, or lacks that "
				 "event; ebprof stat -e %s counts it",
				 p->event->name, p->event->pmu, p->event->name);
	if ((err == -ENOENT || err == -EOPNOTSUPP) && !event_is_software(p->event) &&
	    !features_blame(e, err, "cannot open the event"))
		return error_set(e, STATUS_DENIED, err,
				 "cannot sample by %s: this CPU or virtual machine does not count "
				 "that; ebprof list names what it does", p->event->name);
	return err ? features_explain(e, err, "cannot open the event") : 0;
}

int event_part_attach(struct event_part *p, struct error *e)
{
	int err = perf_events_refresh(p->events, p->spread_ns);

	return err ? features_explain(e, err, "cannot open the event") : 0;
}

void event_part_set_frequency(struct event_part *p, uint64_t frequency)
{
	p->frequency = frequency;
	p->spread_ns = spread_of(frequency);
	/* What failed is tried again with the next refresh. */
	perf_events_set_frequency(p->events, frequency, p->spread_ns);
}

int event_part_succeed(struct event_part *p, const int *fds)
{
	return perf_events_succeed(p->events, fds[0], p->spread_ns);
}

void event_part_settle(struct event_part *p, int succeeded)
{
	perf_events_settle(p->events, succeeded);
}

void event_part_refresh_cpus(struct event_part *p)
{
	/* A CPU that cannot be sampled now is tried again the next time. */
	perf_events_refresh(p->events, 0);
}

size_t event_part_cpus(const struct event_part *p)
{
	return perf_events_count(p->events);
}

uint64_t event_part_skipped(const struct event_part *p)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_program__type(p->program) != BPF_PROG_TYPE_TRACEPOINT ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(p->program), &info, &size))
		return 0;
	return info.recursion_misses;
}

void event_part_stop(struct event_part *p)
{
	perf_events_stop(p->events);
}

void event_part_close(struct event_part *p)
{
	perf_events_free(p->events);
	p->events = NULL;
}
