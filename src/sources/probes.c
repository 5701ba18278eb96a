/* SPDX-License-Identifier: MIT */
#include "sources/probes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "profile/latency.h"
#include "slices/slicer.h"
#include "sources/probes_slices.h"

/* What the kernel makes, and no clock or counter, unless that turns out. */
static void add_event(struct probes *p, enum probes_role role, const char *text, const char *name)
{
	struct probes_event ev = { .role = role, .text = text, .value = PROFILE_NONE };

	text_clean(ev.name, sizeof(ev.name), name);
	ev.counter.type = PERF_TYPE_TRACEPOINT;
	text_clean(ev.counter.name, sizeof(ev.counter.name), name);
	vec_push(&p->events, ev);
}

/* "A->B", of which B does without the kind and the file, or the group, that are A's as well. */
static void add_time(struct probes *p, const char *start, const char *end)
{
	const char *first = strchr(start, ':'), *second = first ? strchr(first + 1, ':') : NULL;
	const char *last = second ? second : first;
	size_t same = last ? (size_t)(last + 1 - start) : 0;
	char *text = xasprintf("%s" LATENCY_TO "%s", start,
			       end + (strncmp(start, end, same) ? 0 : same));

	add_event(p, PROBES_START, start, text);
	add_event(p, PROBES_END, end, text);
	free(text);
}

struct source *probes_new(const struct probes_options *o)
{
	struct probes *p = xcalloc(1, sizeof(*p));

	p->source.ops = &probes_ops;
	p->o = o;
	p->slices.list = p->slices.exits = p->slices.times = -1;
	for (size_t i = 0; i < o->events.n; i++) {
		add_event(p, PROBES_HIT, o->events.v[i], o->events.v[i]);
		if (i < o->filters.n)
			p->events.v[i].filter = o->filters.v[i];
	}
	for (size_t i = 0; i < o->latency.n; i++) {
		const char *text = o->latency.v[i];

		if (i < o->ends.n && o->ends.v[i]) {
			add_time(p, text, o->ends.v[i]);
			continue;
		}
		add_event(p, PROBES_CALL, text, text);
		add_event(p, PROBES_END, text, text);
	}
	return &p->source;
}

/* What hits are worth is looked at, where it is of the first event. */
static uint32_t add_value_type(struct probes *p, const struct probes_event *ev, const char *what,
			       const char *unit)
{
	char name[sizeof(ev->name) + sizeof(p->field) + 1];
	uint32_t type;

	snprintf(name, sizeof(name), "%s.%s", ev->name, what);
	type = source_type(&p->source, name, unit);
	if (type == 1 && !p->source.host->timeline)
		profile_show(p->source.host->profile, type);
	return type;
}

static void begin(struct source *source, struct source_host *host)
{
	struct probes *p = (struct probes *)source;
	struct profile_meta *m = profile_meta(host->profile);

	if (!*m->event && p->events.n) {
		/* Where times are measured, what is hit is their end. */
		text_clean(m->event, sizeof(m->event),
			   p->events.v[p->events.v[0].role == PROBES_START].text);
		m->period = p->o->period;
	}
	for (size_t i = 0; i < p->events.n; i++) {
		struct probes_event *ev = &p->events.v[i];

		ev->own = ev->waiting = PROFILE_NONE;
		if (probes_starts(ev))
			continue;
		host->at_tracepoint |= ev->kind == EBP_PROBE_TRACEPOINT ||
				       ev->kind == EBP_PROBE_END_TRACEPOINT;
		ev->type = source_type(source, ev->name, "count");
		if (ev->weighted)
			ev->value = add_value_type(p, ev, p->field, p->unit);
		if (ev->role != PROBES_END)
			continue;
		ev->value = add_value_type(p, ev, "time", "nanoseconds");
		ev->own = add_value_type(p, ev, "running", "nanoseconds");
		ev->waiting = add_value_type(p, ev, "waiting", "nanoseconds");
	}
}

/* The place that was hit, or NULL. */
static const struct probes_place *place_of(const struct probes *p, const struct ebp_key *key)
{
	uint32_t place = EBP_PROBE_INDEX(EBP_PROBE_CLASS(key->class));

	if (key->kind != EBP_PROBED || place >= p->places.n ||
	    p->places.v[place].event >= p->events.n)
		return NULL;
	return &p->places.v[place];
}

/* @n periods, of which each counts @times; what is rounded off is carried to the next. */
static uint64_t scaled(struct probes *p, uint64_t n, double times)
{
	double exact = (double)(n * p->o->period) * times + p->slices.carried;

	if (times == 1)
		return n * p->o->period;
	p->slices.carried = exact - floor(exact);
	return (uint64_t)exact;
}

static void take(struct probes *p, const struct source_count *c, double times)
{
	const struct source_host *host = p->source.host;
	struct source *source = &p->source;
	const struct probes_place *place = place_of(p, c->key);
	uint64_t n = scaled(p, c->count.n, times);
	uint64_t worth = (uint64_t)(times * (double)(c->count.ns * p->o->period) + 0.5);
	const struct probes_event *ev = &p->events.v[place->event];
	uint32_t sample, type;

	type = ev->type;
	sample = host->sample(host->ctx, c->key, c->time);
	source_add(source, sample, type, n);
	source_add(source, sample, ev->value, worth);
	source_add(source, sample, c->key->share == EBP_WAITED ? ev->waiting : ev->own, worth);
	host->kept(host->ctx, sample, c->count.n);
	/* Ticks are of the first type. */
	if (!type)
		source_tick(source, c, sample, n, 0);
}

static void count_known(void *ctx, const struct source_count *c)
{
	struct probes *p = ctx;
	double times = probes_slices_scale(p, c->key);

	if (times > 0)
		take(p, c, times);
	else
		probes_slices_hold(p, c);
}

/* A stack that was sent to be unwound by us may be known later only. */
static int is_early(void *ctx, const struct ebp_key *key)
{
	const struct source_host *host = ((const struct probes *)ctx)->source.host;

	return !host->knows(host->ctx, key->user_id);
}

static int count(struct source *source, const struct source_count *c)
{
	struct probes *p = (struct probes *)source;

	if (c->key->kind != EBP_PROBED)
		return 0;
	if (!place_of(p, c->key))
		return 1;
	if (is_early(p, c->key))
		early_keep(&p->early, c);
	else
		count_known(p, c);
	return 1;
}

static void flush(struct source *source, int last)
{
	struct probes *p = (struct probes *)source;

	early_take(&p->early, last ? NULL : is_early, count_known, p);
	if (p->slices.slicer)
		probes_slices_flush(p, last, take);
}

static void started(struct source *source)
{
	struct probes *p = (struct probes *)source;

	if (p->slices.on)
		probes_slices_begin(p);
}

static uint64_t next_turn(const struct source *source)
{
	return slicer_until(((const struct probes *)source)->slices.slicer, UINT64_MAX);
}

static void turn(struct source *source, uint64_t now)
{
	slicer_turn(((struct probes *)source)->slices.slicer, now);
}

static void stopping(struct source *source)
{
	slicer_stop(((struct probes *)source)->slices.slicer);
}

static void finish(struct source *source, uint64_t began, uint64_t stopped)
{
	struct probes *p = (struct probes *)source;

	(void)began;
	(void)stopped;
	flush(source, 1);
	if (p->slices.slicer)
		probes_slices_finish(p);
}

/* A hit that came while another had the CPU's memory was counted without its values. */
static int has_number(const struct probes_place *place, const struct ebp_key *key)
{
	return place && place->values.by_size && key->result != EBP_BUSY;
}

/* On top of the stack, for views that know no labels: "[count=512]". */
static uint32_t mark_number(const struct probes *p, const struct ebp_key *key, uint32_t node)
{
	const struct probes_place *place = place_of(p, key);
	const struct source_host *host = p->source.host;
	char text[128];

	snprintf(text, sizeof(text), place->values.by_signed ? "[%.64s=%lld]" : "[%.64s=%llu]",
		 p->o->by, (long long)key->waker);
	return host->mark(host->ctx, node, text);
}

/* Which of many it was. */
static uint32_t leaf(struct source *source, const struct ebp_key *key, uint32_t node)
{
	const struct probes_place *place = place_of((const struct probes *)source, key);

	if (place && place->label)
		node = source->host->mark(source->host->ctx, node, place->label);
	if (has_number(place, key))
		node = mark_number((const struct probes *)source, key, node);
	return node;
}

/* The number that it is told apart by. */
static uint32_t labels(struct source *source, const struct ebp_key *key)
{
	const struct probes *p = (const struct probes *)source;
	struct profile *to = source->host->profile;

	if (!has_number(place_of(p, key), key))
		return 0;
	return profile_labels(to, &(struct label){ .key = profile_string(to, p->o->by),
						   .number = (int64_t)key->waker }, 1);
}

/* What became of --max-overhead, where it was needed. */
static void add_bound(const struct probes *p, uint64_t hits, struct summary *rows)
{
	struct ebp_counters c;

	collector_counters(p->source.host->collector, &c);
	if (!(p->bound > 0) || c.captured * p->o->period >= hits)
		return;
	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "stacks_taken", (double)c.captured,
		    probes_slices_are(p) ? "the stacks of %llu hits stand for the others "
					   "(--max-overhead %g%%)"
					 : "all hits are counted, and the stacks of %llu of them "
					   "stand for the others (--max-overhead %g%%)",
		    (unsigned long long)c.captured, p->bound);
	if (*p->field)
		summary_text(rows, "; so %s is an estimate", p->field);
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct probes *p = (const struct probes *)source;
	struct profile_view v = profile_view(source->host->profile);
	uint64_t all = 0;

	latency_summaries(source->host->profile, "", rows);
	for (size_t i = 0; i < p->events.n; i++) {
		const struct probes_event *ev = &p->events.v[i];
		uint64_t hits;
		size_t places = 0;

		if (probes_starts(ev))
			continue;
		hits = v.types[ev->type].total + ev->unsampled;
		all += hits;
		if (ev->role == PROBES_END)
			continue;
		for (size_t k = 0; k < p->places.n; k++)
			places += p->places.v[k].event == i;
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "hits", (double)hits, "%llu hit%s of %s",
			    (unsigned long long)hits, text_s(hits), ev->name);
		if (places > 1)
			summary_text(rows, ", in %zu places", places);
		if (ev->value != PROFILE_NONE)
			summary_row(rows, "weight", (double)v.types[ev->value].total,
				    ", %s in all: %llu%s%s", p->field,
				    (unsigned long long)v.types[ev->value].total,
				    strcmp(p->unit, "count") ? " " : "",
				    strcmp(p->unit, "count") ? p->unit : "");
	}
	add_bound(p, all, rows);
	probes_slices_summary(p, rows);
}

static const struct event *event_of(const struct source *source)
{
	return &((const struct probes *)source)->events.v[0].counter;
}

static void release(struct source *source)
{
	struct probes *p = (struct probes *)source;

	for (size_t i = 0; i < p->places.n; i++) {
		struct probes_place *place = &p->places.v[i];

		free(place->label);
		perf_events_free(place->counter);
		if (place->fd >= 0)
			close(place->fd);
	}
	vec_free(&p->places);
	vec_free(&p->events);
	vec_free(&p->links);
	early_free(&p->early);
	slicer_free(p->slices.slicer);
	vec_free(&p->slices.held);
	free(p->slices.before);
	free(p->slices.seen);
	free(p->slices.more);
	vec_free(&p->tests);
	probe_files_close(&p->files);
	free(p);
}

const struct source_ops probes_ops = {
	.name = "probes",
	.kernel = &probes_kernel,
	.feature = &probes_feature,
	.check = probes_check,
	.choose = probes_choose,
	.prepare = probes_prepare,
	.event = event_of,
	.begin = begin,
	.started = started,
	.count = count,
	.flush = flush,
	.next_turn = next_turn,
	.turn = turn,
	.stopping = stopping,
	.leaf = leaf,
	.labels = labels,
	.finish = finish,
	.summary = add_summary,
	.free = release,
};
