/* SPDX-License-Identifier: MIT */
#include "sources/probes_slices.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "collect/crew.h"
#include "profile/latency.h"
#include "slices/slicer.h"
#include "slices/thread_list.h"
#include "sources/probes_links.h"

#define ROUGH 0.05	/* error of sums */

/* --- Times of calls: the kernel's sum of all windows, and what is to be added to it. -------- */

static int has_times(const struct probes *p, uint32_t event)
{
	return p->slices.times >= 0 && p->events.v[event].role == PROBES_END &&
	       p->events.v[event].sliced;
}

/* All calls so far, @to[event * LATENCY_BUCKETS + bucket]. */
static void read_times(const struct probes *p, uint64_t *to)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *each = xcalloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*each));

	for (uint32_t i = 0; i < p->events.n * LATENCY_BUCKETS && to; i++) {
		to[i] = 0;
		if (!has_times(p, i / LATENCY_BUCKETS) ||
		    bpf_map_lookup_elem(p->slices.times, &i, each))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			to[i] += each[cpu];
	}
	free(each);
}

/* What the calls of the window that was closed last stand for beside themselves. */
static void scale_times(struct probes *p)
{
	struct probes_slices *s = &p->slices;
	double more = slicer_mean(s->slicer, s->closed) - 1;

	if (!s->closed || slicer_holds(s->slicer, s->closed))
		return;
	for (size_t i = 0; s->seen && i < p->events.n * LATENCY_BUCKETS; i++)
		s->more[i] += more * (double)s->seen[i];
	s->closed = 0;
}

static void begin_times(struct probes *p)
{
	read_times(p, p->slices.before);
}

static void end_times(struct probes *p)
{
	struct probes_slices *s = &p->slices;

	scale_times(p);
	s->closed = slicer_last(s->slicer);
	read_times(p, s->seen);
	for (size_t i = 0; s->seen && i < p->events.n * LATENCY_BUCKETS; i++)
		s->seen[i] -= s->before[i];
}

/* --- As the slicer sets them. --------------------------------------------------------------- */

static int resume(void *ctx)
{
	struct probes *p = ctx;
	struct probes_slices *s = &p->slices;
	int err;

	begin_times(p);
	++*s->on_kernel.resumed;
	err = probes_links_set(p);
	__atomic_store_n(s->on_kernel.paused, 0, __ATOMIC_RELEASE);
	return err;
}

static void pause_probes(void *ctx)
{
	struct probes *p = ctx;

	__atomic_store_n(p->slices.on_kernel.paused, 1, __ATOMIC_RELEASE);
	probes_links_close(p);
	end_times(p);
}

static void number(void *ctx, uint32_t window)
{
	__atomic_store_n(((struct probes *)ctx)->slices.on_kernel.window, window, __ATOMIC_RELEASE);
}

static int list_threads(void *ctx, thread_list_entry *fn, void *fn_ctx)
{
	const struct probes *p = ctx;

	return p->slices.list < 0 ? -ENOENT : thread_list_read(p->slices.list, fn, fn_ctx);
}

/* All that they cost is in what the threads have spent. */
static void passed(void *ctx, int endless, struct slice_passed *to)
{
	struct probes *p = ctx;
	struct ebp_counters was = p->slices.counters, *now = &p->slices.counters;

	(void)endless;
	collector_counters(p->source.host->collector, now);
	to->calls = (double)(now->traps - was.traps);
	to->cost = (double)(now->traps_ns - was.traps_ns);
	to->exited = (double)(now->exited_ns - was.exited_ns);
	to->knows_exited = 1;
	to->each_ns = now->traps ? (double)now->traps_ns / (double)now->traps : 0;
}

static const struct slicer_ops slicer_ops = {
	.resume = resume,
	.pause = pause_probes,
	.number = number,
	.threads = list_threads,
	.passed = passed,
};

int probes_slices_open(struct probes *p, int list, int exits, int times,
		       const struct probes_switches *on)
{
	struct probes_slices *s = &p->slices;
	size_t n = p->events.n * LATENCY_BUCKETS;

	s->on_kernel = *on;
	s->list = bpf_link_create(list, 0, BPF_TRACE_ITER, NULL);
	if (s->list < 0)
		return s->list;
	s->exits = bpf_raw_tracepoint_open("sched_process_exit", exits);
	if (s->exits < 0)
		return s->exits;
	s->crew = crew_new();
	if (!s->crew)
		return -errno;
	s->times = times;
	if (times < 0)
		return 0;
	s->before = xcalloc(n, sizeof(*s->before));
	s->seen = xcalloc(n, sizeof(*s->seen));
	s->more = xcalloc(n, sizeof(*s->more));
	return 0;
}

void probes_slices_begin(struct probes *p)
{
	p->slices.slicer = slicer_new(&slicer_ops, p, &p->slices.plan, 1);
}

void probes_slices_close(struct probes *p)
{
	struct probes_slices *s = &p->slices;

	if (!s->on)
		return;
	if (s->list >= 0)
		close(s->list);
	if (s->exits >= 0)
		close(s->exits);
	s->list = s->exits = -1;
	crew_free(s->crew);
	s->crew = NULL;
}

/* --- What was counted. --------------------------------------------------------------------- */

double probes_slices_scale(const struct probes *p, const struct ebp_key *key)
{
	uint32_t last = slicer_last(p->slices.slicer), window;

	if (!(key->class & EBP_PROBE_SLICED))
		return 1;
	window = last - ((last - EBP_PROBE_WINDOW_OF(key->class)) & EBP_PROBE_WINDOWS);
	return slicer_holds(p->slices.slicer, window)
		       ? 0
		       : slicer_scale(p->slices.slicer, window, key->tid);
}

void probes_slices_hold(struct probes *p, const struct source_count *c)
{
	vec_push(&p->slices.held, (struct probes_held){ .key = *c->key, .count = *c });
}

void probes_slices_flush(struct probes *p, int last,
			 void (*take)(struct probes *p, const struct source_count *c,
				      double times))
{
	struct probes_slices *s = &p->slices;
	size_t kept = 0;

	scale_times(p);
	for (size_t i = 0; i < s->held.n; i++) {
		struct probes_held held = s->held.v[i];
		double times = probes_slices_scale(p, &held.key);

		held.count.key = &held.key;
		if (times > 0 || last)
			take(p, &held.count, times > 0 ? times : 1);
		else
			s->held.v[kept++] = held;
	}
	s->held.n = kept;
}

/* The kernel's sum of times of calls is in the profile: what it stands for beside itself. */
static void add_times(struct probes *p, uint32_t event, double times)
{
	const struct probes_slices *s = &p->slices;
	uint64_t more[LATENCY_BUCKETS];

	for (size_t k = 0; k < LATENCY_BUCKETS; k++) {
		size_t at = event * LATENCY_BUCKETS + k;

		more[k] = (uint64_t)(times * s->more[at] + 0.5 +
				     (times - 1) * (double)s->before[at]);
	}
	profile_add_latency(p->source.host->profile, p->events.v[event].name, more);
}

/* What no slice stands for is a part of all that there was. */
void probes_slices_finish(struct probes *p)
{
	const struct probes_slices *s = &p->slices;
	struct profile *profile = p->source.host->profile;
	double times = 1 + slicer_owed(s->slicer);
	double mean = slicer_mean(s->slicer, slicer_last(s->slicer));

	read_times(p, s->before);
	for (uint32_t i = 0; i < p->events.n; i++) {
		struct probes_event *ev = &p->events.v[i];
		const uint32_t types[] = { ev->type, ev->value, ev->own, ev->waiting };

		if (!ev->sliced || probes_starts(ev))
			continue;
		ev->unsampled = (uint64_t)(mean * times * (double)ev->unsampled);
		for (size_t k = 0; times > 1 && k < sizeof(types) / sizeof(*types); k++)
			if (types[k] != PROFILE_NONE)
				profile_scale(profile, types[k], times);
		if (has_times(p, i))
			add_times(p, i, times);
	}
}

int probes_slices_are(const struct probes *p)
{
	struct slicer_result r = { 0 };

	slicer_tell(p->slices.slicer, &r);
	return p->slices.slicer && !r.all;
}

static void add_error(const struct slicer_result *r, uint64_t hits, struct summary *rows)
{
	/* Hits, too, are few in a part of the time. */
	double error = r->error + (hits ? 1 / sqrt((double)hits) : 0);

	if (error <= ROUGH)
		return;
	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "error_percent", 100 * error, "rough: counts may be wrong by %.0f%%: ",
		    100 * error);
	if (r->slices)
		summary_text(rows, "they are of %llu slice%s, in which the probes took %.0f%% of "
			     "the CPU time of these threads", (unsigned long long)r->slices,
			     text_s(r->slices), 100 * r->traps);
	else
		summary_text(rows, "they are of the first %.2f s alone", (double)r->open / 1e9);
}

void probes_slices_summary(const struct probes *p, struct summary *rows)
{
	const struct profile_view v = profile_view(p->source.host->profile);
	double open, share;
	struct slicer_result r = { 0 };

	slicer_tell(p->slices.slicer, &r);
	if (!probes_slices_are(p))
		return;
	open = (double)r.open;
	share = v.meta->duration ? 100 * open / (double)v.meta->duration : 0;
	summary_line(rows, SUMMARY_RESULT);
	summary_row(rows, "probed_percent", share < 100 ? share : 100,
		    "probed %.*f%% of the time", share < 10 ? 1 : 0, share < 100 ? share : 100);
	if (r.slices)
		summary_row(rows, "slices", (double)r.slices, ", in %llu slice%s",
			    (unsigned long long)r.slices, text_s(r.slices));
	summary_text(rows, "; counts are scaled");
	summary_row(rows, "probes_cost_percent", 100 * r.overhead,
		    "; the probes took about %.1f%% of the CPU time of the threads that are hit "
		    "(--max-overhead %g%%)", 100 * r.overhead, p->bound);
	if (p->o->latency.n && r.slices) {
		summary_line(rows, SUMMARY_RESULT);
		summary_text(rows, "calls that did not begin and end in one slice, of about %.0f "
			     "ms, are not among those that are scaled: long ones are too few",
			     open / (double)r.slices / 1e6);
	}
	if (r.failed) {
		summary_line(rows, SUMMARY_RESULT);
		summary_row(rows, "slices_failed", (double)r.failed,
			    "%llu times the probes could not be set: what was hit then is missing",
			    (unsigned long long)r.failed);
	}
	add_error(&r, p->slices.counters.traps, rows);
}
