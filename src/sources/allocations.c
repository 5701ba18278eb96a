/* SPDX-License-Identifier: MIT */
#include "sources/allocations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/alloc_probes.h"
#include "alloc/alloc_profile.h"
#include "base/say.h"
#include "base/text.h"
#include "base/xalloc.h"

#define SECOND 1e9
#define ROUGH 0.05	/* error of sums */
#define ENDLESS "to see each free() would cost more than --max-overhead: what was in use " \
		"is not known"

struct source *allocations_new(const struct allocations_options *o)
{
	struct allocations *a = xcalloc(1, sizeof(*a));

	a->source.ops = &allocations_ops;
	a->o = o;
	return &a->source;
}

static uint32_t site_of(void *ctx, const struct ebp_key *key, uint64_t time)
{
	const struct source_host *host = ((struct allocations *)ctx)->source.host;

	return host->sample(host->ctx, key, time);
}

static void begin(struct source *source, struct source_host *host)
{
	struct allocations *a = (struct allocations *)source;
	struct profile_meta *m = profile_meta(host->profile);
	uint64_t interval = a->probes.interval;

	if (!*m->event) {
		snprintf(m->event, sizeof(m->event), "alloc");
		m->period = interval + !interval;
	}
	a->alloc = alloc_new(&(struct alloc_options){ .interval = interval,
						      .min_age = a->o->min_age,
						      .per_thread = host->per_thread,
						      .alive = a->o->windows,
						      .site = site_of,
						      .ctx = a });
	a->first = source_type(source, alloc_types[0].name, alloc_types[0].unit);
	for (a->types = 1; a->types < (a->o->windows ? PEAK_OBJECTS : ALLOC_TYPES); a->types++)
		source_type(source, alloc_types[a->types].name, alloc_types[a->types].unit);
	if (!a->first)
		profile_show(host->profile, a->o->leaks ? INUSE_SPACE : ALLOC_SPACE);
}

static void started(struct source *source)
{
	struct allocations *a = (struct allocations *)source;

	if (a->probes.paused)
		a->slicer = slicer_new(&allocations_slices, a, &a->slices, 0);
}

static int take_record(struct source *source, const struct ebp_head *head)
{
	if (head->type != EBP_ALLOCATION && head->type != EBP_FREED && head->type != EBP_GONE)
		return 0;
	alloc_queue_add(&((struct allocations *)source)->queue, (const void *)head);
	return 1;
}

/* A block whose stack, or how often it counts, is not known yet. */
static int is_early(const struct allocations *a, const struct ebp_allocation *block)
{
	const struct source_host *host = a->source.host;

	if (slicer_holds(a->slicer, slicer_window(a->slicer, block->time)))
		return 1;
	return !(host->knows(host->ctx, block->key.user_id) &&
		 host->knows(host->ctx, block->key.kernel_id)) && !alloc_queue_is_long(&a->queue);
}

/* Matches blocks and their ends, as far as their stacks are known; at the @last all of them. */
static void flush(struct source *source, int last)
{
	struct allocations *a = (struct allocations *)source;
	const struct source_host *host = source->host;
	const union alloc_record *r;
	uint32_t window;

	if (slicer_endless(a->slicer))
		alloc_endless(a->alloc);
	for (; (r = alloc_queue_first(&a->queue)); alloc_queue_next(&a->queue)) {
		if (r->head.type == EBP_FREED) {
			alloc_freed(a->alloc, &r->end);
		} else if (r->head.type == EBP_GONE) {
			alloc_gone(a->alloc, &r->end);
		} else {
			if (!last && is_early(a, &r->begin))
				return;
			window = slicer_window(a->slicer, r->begin.time);
			alloc_scale(a->alloc, slicer_scale(a->slicer, window, r->begin.key.tid));
			host->kept_key(host->ctx, &r->begin.key);
			alloc_block(a->alloc, &r->begin);
		}
	}
}

static void process_event(struct source *source, const struct sideband_event *event)
{
	struct allocations *a = (struct allocations *)source;

	if (event->type == SIDEBAND_FORK && a->inherit)
		alloc_links_fork(a->links, event->pid, event->parent);
	else if (event->type == SIDEBAND_EXIT)
		alloc_links_exit(a->links, event->pid);
}

static uint64_t next_turn(const struct source *source)
{
	return slicer_until(((const struct allocations *)source)->slicer, UINT64_MAX);
}

static void turn(struct source *source, uint64_t now)
{
	slicer_turn(((struct allocations *)source)->slicer, now);
}

static void stopping(struct source *source)
{
	slicer_stop(((struct allocations *)source)->slicer);
}

/*
 * A location in the library that is preloaded to follow allocations, which is no part of the
 * program, or in an operator that hands on what malloc() gave.
 */
static int hides(const struct source *source, const struct ebp_key *key, uint32_t location)
{
	const struct alloc_probes *probes =
		&((const struct allocations *)source)->probes;
	const struct profile *p = source->host->profile;
	struct profile_view v = profile_view(p);
	const struct location *l = &v.locations[location];
	const struct module *m = &v.modules[l->module];

	if (key->kind != EBP_ALLOCATED)
		return 0;
	for (size_t i = 0; i < probes->noperators; i++) {
		const struct alloc_operator *o = &probes->operators[i];

		if (l->address - o->offset < o->size && !strcmp(profile_text(p, m->path), o->path))
			return 1;
	}
	return !strcmp(profile_text(p, m->name), ALLOC_LIBRARY_NAME);
}

/* Their types are the last ones: those of other sources were there before. */
static void keep_what_is_known(struct allocations *a)
{
	if (!slicer_endless(a->slicer) || a->types == ALLOC_SPACE + 1)
		return;
	if (a->o->windows)
		say(SAY_WARNING, ENDLESS);
	a->types = ALLOC_SPACE + 1;
	profile_keep_types(a->source.host->profile, a->first + a->types);
}

static void update(struct source *source)
{
	struct allocations *a = (struct allocations *)source;

	keep_what_is_known(a);
	alloc_profile_update(source->host->profile, a->first, a->types, a->alloc);
}

static void finish(struct source *source, uint64_t began, uint64_t stopped)
{
	struct allocations *a = (struct allocations *)source;
	struct profile *p = source->host->profile;
	uint64_t peak;

	flush(source, 1);
	/* What was told of earlier windows stays. */
	if (a->o->windows) {
		update(source);
		return;
	}
	alloc_scale_all(a->alloc, 1 + slicer_owed(a->slicer));
	peak = alloc_peak(a->alloc);
	alloc_profile_finish(p, a->first, a->alloc, stopped);
	profile_meta(p)->peak = peak > began ? peak - began : 0;
	keep_what_is_known(a);
}

static void add_sums(const struct allocations *a, const struct profile_view *v,
		     struct summary *rows)
{
	static const struct {
		uint32_t type;
		const char *text, *bytes, *blocks;
	} parts[] = {
		{ ALLOC_OBJECTS, "allocated", "allocated_bytes", "allocated_blocks" },
		{ INUSE_OBJECTS, "never freed", "never_freed_bytes", "never_freed_blocks" },
		{ PEAK_OBJECTS, "at the peak", "peak_bytes", "peak_blocks" },
	};
	const struct profile_type *types = v->types + a->first;

	summary_line(rows, SUMMARY_RESULT);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && parts[i].type < a->types; i++) {
		uint64_t n = types[parts[i].type].total;
		uint64_t bytes = types[parts[i].type + 1].total;

		summary_row(rows, parts[i].bytes, (double)bytes, "%s%.2f MiB", i ? ", " : "",
			    (double)bytes / (1 << 20));
		summary_row(rows, parts[i].blocks, (double)n, " in %llu block%s %s",
			    (unsigned long long)n, text_s(n), parts[i].text);
	}
	if (a->types > PEAK_OBJECTS)
		summary_row(rows, "peak_s", (double)v->meta->peak / SECOND, " (after %.2f s)",
			    (double)v->meta->peak / SECOND);
}

/* How --max-overhead was kept. */
static void add_slices(const struct slicer_result *s, uint64_t samples, uint64_t duration,
		       struct summary *rows)
{
	/* Of samples, too, there are few in a part of the time. */
	double error = s->error + (samples && s->slices ? 1 / sqrt((double)samples) : 0);

	if (s->open || s->slices) {
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "probes_cost_percent", 100 * s->overhead,
			    "the probes took about %.1f%% of the CPU time of the threads that "
			    "allocate", 100 * s->overhead);
		if (s->all && s->open)
			summary_text(rows, ", so they stayed");
	}
	if ((s->open || s->slices) && !(s->all && s->open)) {
		summary_row(rows, "slices", (double)s->slices,
			    "; allocations were sampled in %llu slices, ",
			    (unsigned long long)s->slices);
		summary_row(rows, "slices_s", (double)s->open / SECOND,
			    "%.2f s of %.1f s together, and scaled up by that",
			    (double)s->open / SECOND, (double)duration / SECOND);
	}
	if (s->failed) {
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "slices_failed", (double)s->failed,
			    "%llu times the probes could not be set: what was allocated then is "
			    "missing", (unsigned long long)s->failed);
	}
	if (error > ROUGH) {
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "error_percent", 100 * error,
			    "rough: sums may be wrong by %.0f%%: they are of %llu samples, and "
			    "probes took %.0f%% of the CPU time of these threads in the slices",
			    100 * error, (unsigned long long)samples, 100 * s->traps);
	}
	if (s->endless) {
		summary_line(rows, SUMMARY_RESULT);
		summary_text(rows, ENDLESS);
	}
}

static void add_summary(const struct source *source, struct summary *rows)
{
	const struct allocations *a = (const struct allocations *)source;
	struct profile_view v = profile_view(source->host->profile);
	struct slicer_result slices = { 0 };
	struct ebp_counters c;
	uint64_t lost;

	slicer_tell(a->slicer, &slices);
	add_sums(a, &v, rows);
	add_slices(&slices, v.account->taken, v.meta->duration, rows);
	collector_counters(source->host->collector, &c);
	lost = c.ends_lost + alloc_untracked(a->alloc);
	if (lost) {
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "ends_lost", (double)lost,
			    "the ends of %llu sampled blocks were lost, so these seem never "
			    "freed; try a larger --buffer", (unsigned long long)lost);
	}
	if (!v.account->taken) {
		summary_line(rows, SUMMARY_RESULT);
		summary_text(rows, "no allocation was seen: there was none; or, with a command, "
			     "it is static, has an allocator of its own or other rights than its "
			     "user (-p PID sees these)");
	}
}

static void release(struct source *source)
{
	struct allocations *a = (struct allocations *)source;

	slicer_free(a->slicer);
	alloc_free(a->alloc);
	alloc_queue_free(&a->queue);
	alloc_probes_free(&a->probes);
	free(a);
}

const struct source_ops allocations_ops = {
	.name = "allocations",
	.kernel = &allocations_kernel,
	.feature = &allocations_feature,
	.whole = 1,
	.keeps_samples = 1,
	.check = allocations_check,
	.choose = allocations_choose,
	.prepare = allocations_prepare,
	.environment = allocations_environment,
	.begin = begin,
	.started = started,
	.record = take_record,
	.flush = flush,
	.process_event = process_event,
	.next_turn = next_turn,
	.turn = turn,
	.stopping = stopping,
	.hides = hides,
	.update = update,
	.finish = finish,
	.summary = add_summary,
	.free = release,
};
