/* SPDX-License-Identifier: MIT */
#include "sources/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "sources/probes_price.h"

#define SECOND 1000000000ull
#define TIMES_RATE 1000		/* Hz, at most, at which times are kept unasked */

struct source *samples_new(const struct samples_options *o)
{
	struct samples *s = xcalloc(1, sizeof(*s));

	s->source.ops = &samples_ops;
	s->o = o;
	s->part = (struct event_part){ .event = &o->event,
				       .frequency = o->frequency,
				       .period = o->period };
	return &s->source;
}

/* Who asks for each hit of a tracepoint should know before what that costs. */
static int prepare(struct source *source, const struct source_setup *setup, struct error *e)
{
	const struct samples *s = (struct samples *)source;

	(void)e;
	if (s->o->event.type == PERF_TYPE_TRACEPOINT)
		probes_price_tracepoint(&s->o->event, s->o->period, setup);
	return 0;
}

static void begin(struct source *source, struct source_host *host)
{
	struct samples *s = (struct samples *)source;
	struct profile_meta *m = profile_meta(host->profile);

	snprintf(m->event, sizeof(m->event), "%s", s->o->event.name);
	m->frequency = s->part.frequency;
	m->period = s->o->period;
	host->at_tracepoint = s->o->event.type == PERF_TYPE_TRACEPOINT;
	s->type = s->o->shares ? PROFILE_NONE : source_type(source, "samples", "count");
}

static void set_frequency(struct source *source, uint64_t frequency)
{
	struct samples *s = (struct samples *)source;

	if (!s->part.frequency)
		return;
	event_part_set_frequency(&s->part, frequency);
	profile_meta(source->host->profile)->frequency = frequency;
}

static int count(struct source *source, const struct source_count *c)
{
	const struct samples *s = (struct samples *)source;
	const struct source_host *host = source->host;
	uint64_t n = c->count.n;
	uint32_t sample;

	if (c->key->kind != EBP_ON_CPU && (c->key->kind != EBP_METERED || c->key->class))
		return 0;
	sample = host->sample(host->ctx, c->key, c->time);
	source_add(source, sample, s->type, n);
	host->kept(host->ctx, sample, n);
	host->ran(host->ctx, c->key, sample, n);
	source_tick(source, c, sample, 1, 0);
	return 1;
}

static void complete(struct source *source)
{
	const struct samples *s = (struct samples *)source;

	if (s->o->frequency && !s->o->shares && event_is_time(&s->o->event))
		profile_derive(source->host->profile, s->type, "cpu", "nanoseconds",
			       SECOND / s->o->frequency);
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct samples *s = (const struct samples *)source;
	uint64_t skipped = collector_skipped(source->host->collector);

	/* Not where it only divides the time that another source measures. */
	if (!s->o->name && !s->o->shares && !strcmp(s->o->event.name, "cpu-clock")) {
		summary_line(rows, SUMMARY_EVENT);
		summary_text(rows, "cpu-clock, because this CPU or virtual machine offers no "
			     "cycles");
	}
	if (skipped) {
		summary_line(rows, SUMMARY_MISSED);
		summary_row(rows, "hits_skipped", (double)skipped,
			    "%llu hits of the tracepoint, of whatever process, were not seen: "
			    "another BPF program ran on their CPU", (unsigned long long)skipped);
	}
}

static const struct event *event_of(const struct source *source)
{
	return &((const struct samples *)source)->o->event;
}

/* A sample with its time costs a microsecond more than one that is summed up. */
static int keeps_times(const struct source *source)
{
	uint64_t rate = ((const struct samples *)source)->part.frequency;

	return rate && rate <= TIMES_RATE;
}

static void release(struct source *source)
{
	free(source);
}

const struct source_ops samples_ops = {
	.name = "samples",
	.renews = 1,
	.kernel = &samples_kernel,
	.feature = &samples_feature,
	.check = samples_check,
	.choose = samples_choose,
	.prepare = prepare,
	.keeps_times = keeps_times,
	.event = event_of,
	.begin = begin,
	.set_frequency = set_frequency,
	.count = count,
	.complete = complete,
	.summary = add_summary,
	.free = release,
};
