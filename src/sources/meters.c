/* SPDX-License-Identifier: MIT */
#include "sources/meters.h"

#include <errno.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "collect/pmu.h"
#include "collect/tracefs.h"
#include "sources/options.h"

static int check(struct source_options *o, struct stack_options *stack, struct error *e)
{
	(void)o;
	(void)stack;
	(void)e;
	return 0;
}

/* Those of @list. */
static int add(struct meters *m, const char *list, const char *tracefs, struct error *e)
{
	char name[sizeof(((struct event *)0)->name)];

	while (event_next(&list, name, sizeof(name))) {
		int err;

		if (m->n == EBP_METERS_MAX)
			return error_set(e, STATUS_USAGE, -EINVAL, "--counters: at most %d events",
					 EBP_METERS_MAX);
		err = event_parse(name, tracefs, &m->v[m->n].event, e);
		if (!err)
			err = pmu_refuse_samples(&m->v[m->n].event, "--counters ", e);
		if (err)
			return err;
		m->n++;
	}
	return 0;
}

static int choose(struct source_options *o, struct source **s, struct error *e)
{
	const struct samples_options *samples = &o->samples;
	struct meters *m;
	struct tracefs t;
	int err = 0;

	if (!samples->counters.n)
		return 0;
	if (!samples->event.name[0] || samples->event.type == PERF_TYPE_TRACEPOINT)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--counters is for samples of a clock or a counter: -e cpu-clock");
	m = xcalloc(1, sizeof(*m));
	m->source.ops = &meters_ops;
	m->frequency = samples->frequency;
	*s = &m->source;
	tracefs_open(&t);
	for (size_t i = 0; i < samples->counters.n && !err; i++)
		err = add(m, samples->counters.v[i], tracefs_events(&t), e);
	tracefs_close(&t);
	return err;
}

static void begin(struct source *source, struct source_host *host)
{
	struct meters *m = (struct meters *)source;

	(void)host;
	for (size_t i = 0; i < m->n; i++)
		m->v[i].type = source_type(source, m->v[i].event.name,
					   event_is_clock(&m->v[i].event) ? "nanoseconds"
									  : "count");
}

static int count(struct source *source, const struct source_count *c)
{
	const struct meters *m = (struct meters *)source;
	const struct source_host *host = source->host;

	if (c->key->kind != EBP_METERED || !c->key->class || c->key->class > m->n)
		return 0;
	source_add(source, host->sample(host->ctx, c->key, c->time),
		   m->v[c->key->class - 1].type, c->count.ns);
	return 1;
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct meters *m = (const struct meters *)source;

	if (!m->lost)
		return;
	summary_line(rows, SUMMARY_MISSED);
	summary_row(rows, "counter_values_lost", (double)m->lost,
		    "%llu values of --counters found no room", (unsigned long long)m->lost);
}

/* They have none: it is for the samples to say. */
static int keeps_times(const struct source *source)
{
	(void)source;
	return 1;
}

static void release(struct source *source)
{
	free(source);
}

const struct source_ops meters_ops = {
	.name = "counters",
	.kernel = &meters_kernel,
	.check = check,
	.choose = choose,
	.keeps_times = keeps_times,
	.begin = begin,
	.count = count,
	.summary = add_summary,
	.free = release,
};
