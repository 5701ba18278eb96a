/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>

#include "collect/features.h"
#include "collect/load_log.h"
#include "ebprof.skel.h"
#include "sources/meters.h"

#define PERIOD_RATE 10000	/* samples a second and CPU, where no rate is given */

static uint64_t rate(const void *ctx, size_t ncpus)
{
	const struct meters *m = ctx;

	return (m->frequency ? m->frequency : PERIOD_RATE) * ncpus * m->n;
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	const struct meters *m = ctx;
	int cpus = libbpf_num_possible_cpus();

	(void)o;
	if (cpus < 1)
		return error_set(e, STATUS_ERROR, cpus, "cannot list the CPUs");
	if (!features_linux(5, 11))
		return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
				 "--counters needs Linux 5.11, whose samplers may read counters; "
				 "ebprof stat counts without stacks");
	skel->rodata->config.meters.n = (uint32_t)m->n;
	skel->rodata->config.meters.cpus = (uint32_t)cpus;
	bpf_map__set_max_entries(skel->maps.meter_events, (uint32_t)m->n * (uint32_t)cpus);
	bpf_map__set_autocreate(skel->maps.meter_events, true);
	bpf_map__set_autocreate(skel->maps.meter_states, true);
	return 0;
}

/* One event, which counts on each CPU, whoever runs there. */
static int open_meter(struct meter *m, const struct target_options *target, int map,
		      uint32_t first, struct error *e)
{
	struct perf_event_attr attr = event_attr(&m->event, 0, 0, 1);
	int err;

	attr.sample_period = 0;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	m->events = perf_events_new(&attr, m->event.also, target->cpus.v, target->cpus.n, -1);
	perf_events_set_pmu(m->events, &m->event);
	perf_events_set_map(m->events, map, first);
	err = perf_events_try(m->events);
	if (err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV ||
	    (err == -EINVAL && *m->event.pmu))
		return error_set(e, STATUS_DENIED, err,
				 "--counters %s: this CPU or virtual machine does not count that; "
				 "page-faults, context-switches and task-clock are counted "
				 "everywhere", m->event.name);
	return err ? features_explain(e, err, "cannot count") : 0;
}

static int open_events(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		       struct error *e)
{
	struct meters *m = ctx;
	uint32_t cpus = skel->rodata->config.meters.cpus;
	int err = 0;

	for (size_t i = 0; i < m->n && !err; i++)
		err = open_meter(&m->v[i], o->target, bpf_map__fd(skel->maps.meter_events),
				 (uint32_t)i * cpus, e);
	return err;
}

static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	struct meters *m = ctx;
	int err = 0;

	(void)skel;
	for (size_t i = 0; i < m->n && !err; i++)
		err = perf_events_refresh(m->v[i].events, 0);
	return err ? features_explain(e, err, "cannot count") : 0;
}

static void refresh_cpus(void *ctx)
{
	struct meters *m = ctx;

	for (size_t i = 0; i < m->n; i++)
		perf_events_refresh(m->v[i].events, 0);
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	struct meters *m = ctx;

	(void)now;
	for (size_t i = 0; i < m->n; i++)
		perf_events_stop(m->v[i].events);
	m->lost = skel->bss->meters_lost;
}

static void close_events(void *ctx)
{
	struct meters *m = ctx;

	for (size_t i = 0; i < m->n; i++)
		perf_events_free(m->v[i].events);
}

static const struct load_use uses[] = { { 0 } };

const struct collector_part_ops meters_kernel = {
	.uses = uses,
	.rate = rate,
	.configure = configure,
	.open = open_events,
	.attach = attach,
	.refresh_cpus = refresh_cpus,
	.stop = stop,
	.close = close_events,
};
