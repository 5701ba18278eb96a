/* SPDX-License-Identifier: MIT */
#include "alloc/slicer.h"

#include <stdlib.h>

#include "alloc/alloc_threads.h"
#include "alloc/thread_clocks.h"
#include "base/clock.h"
#include "base/vec.h"

/* A slice, or a cycle that is open from its beginning to its end. */
struct window {
	struct alloc_cycle cycle;
	uint64_t begin;
	int settled;		/* @scales are known, since the next one began */
	struct alloc_scales scales;	/* all zeros: 1 each */
};

struct slicer {
	const struct slicer_options *o;
	struct collector *collector;
	struct alloc_links *links;
	struct alloc_slices slices;
	struct alloc_cycle cycle;
	uint64_t began, next;	/* the cycle; the next change */
	int open;		/* calls are sampled */
	uint64_t opened;
	VEC(struct window) windows;
	size_t released;	/* windows before it have no scales any more */
	struct alloc_threads *threads;
	struct thread_clocks *clocks;
	/* At the last change. */
	uint64_t marked;
	struct ebp_counters counters;
	struct slicer_result result;
	unsigned short random[3];
};

static void list_thread(void *ctx, const struct ebp_alloc_thread *thread)
{
	struct slicer *s = ctx;
	struct ebp_alloc_thread exact = *thread;

	exact.cpu = thread_clocks_get(s->clocks, (pid_t)thread->tid, thread->start, thread->cpu,
				      thread->calls > 0);
	alloc_threads_list(s->threads, &exact);
}

/* What happened since the last change; @open: in a slice. */
static struct alloc_seen see(struct slicer *s, int open)
{
	const struct slicer_options *o = s->o;
	struct ebp_counters was = s->counters;
	uint64_t now = clock_ns();
	double resizes;
	struct alloc_passed passed = { .wall = (double)(now - s->marked),
				       .call_ns = o->call_ns,
				       .open = open };

	s->marked = now;
	collector_counters(s->collector, &s->counters);
	resizes = (double)(s->counters.alloc_resizes - was.alloc_resizes);
	passed.calls = (double)(s->counters.alloc_calls - was.alloc_calls) +
		       (s->slices.endless ? resizes : 0);
	passed.ends = (o->end_ns + ALLOC_PROGRAM_NS) *
			      (double)(s->counters.alloc_ends - was.alloc_ends) +
		      (s->slices.endless ? 0 : (o->call_ns + 2 * ALLOC_PROGRAM_NS) * resizes);
	if (!alloc_links_threads(s->links, list_thread, s)) {
		thread_clocks_sweep(s->clocks);
		return alloc_threads_look(s->threads, &passed);
	}
	alloc_threads_miss(s->threads);
	return (struct alloc_seen){ .wall = passed.wall,
				    .calls = passed.calls * passed.call_ns,
				    .ends = passed.ends };
}

static int always(const struct slicer *s)
{
	return s->cycle.open >= s->cycle.length;
}

/*
 * As much is known of the time on both sides of the last slice as ever will be; with @last there is
 * no other to come.
 */
static void settle(struct slicer *s, int last)
{
	struct window *w = s->windows.n ? &s->windows.v[s->windows.n - 1] : NULL;

	if (!w || w->settled)
		return;
	if (w->cycle.open < w->cycle.length)
		w->scales = alloc_threads_settle(s->threads, last);
	else
		alloc_threads_settle_whole(s->threads);
	w->settled = 1;
}

static void see_closed(struct slicer *s)
{
	struct alloc_seen seen = see(s, 0);

	alloc_slices_closed(&s->slices, &seen);
}

static void open_window(struct slicer *s)
{
	if (!s->open) {
		s->result.failed += alloc_links_resume(s->links) != 0;
		see_closed(s);
	}
	settle(s, always(s));
	s->open = 1;
	s->opened = clock_ns();
	s->result.slices += !always(s);
	vec_push(&s->windows, (struct window){ .cycle = s->cycle, .begin = s->opened });
}

/* What is seen while the probes go, for which the kernel waits a while, is not of the slice. */
static void close_window(struct slicer *s, int pause)
{
	struct alloc_seen seen = see(s, 1);
	uint64_t open = s->marked - s->opened;

	if (pause)
		alloc_links_pause(s->links);
	alloc_slices_open(&s->slices, &seen);
	s->result.open += open;
	s->open = !pause;
}

static void begin_cycle(struct slicer *s, uint64_t at)
{
	s->began = at;
	s->cycle = alloc_slices_plan(&s->slices, erand48(s->random), erand48(s->random));
	if (!always(s)) {
		s->result.all = 0;
		if (s->open) {
			alloc_links_pause(s->links);
			s->open = 0;
		}
		s->next = at + s->cycle.begin;
		return;
	}
	open_window(s);
	s->next = at + s->cycle.length;
}

static void end_cycle(struct slicer *s, uint64_t now)
{
	uint64_t end = s->began + s->cycle.length;

	if (s->open)
		close_window(s, 0);
	else
		see_closed(s);
	if (alloc_slices_ends_are_dear(&s->slices)) {
		settle(s, 1);
		alloc_slices_give_up(&s->slices);
		alloc_threads_forget(s->threads);
		alloc_links_give_up_ends(s->links);
		s->open = 0;
	}
	begin_cycle(s, end + s->cycle.length > now ? end : now);
}

struct slicer *slicer_new(struct collector *c, struct alloc_links *links,
			  const struct slicer_options *o)
{
	struct slicer *s = xcalloc(1, sizeof(*s));
	uint64_t seed = clock_ns();

	s->o = o;
	s->collector = c;
	s->links = links;
	s->slices = o->slices;
	s->result.all = 1;
	s->threads = alloc_threads_new();
	s->clocks = thread_clocks_new();
	for (int i = 0; i < 3; i++)
		s->random[i] = (unsigned short)(seed >> (8 * i));
	s->marked = clock_ns();
	see(s, 0);
	begin_cycle(s, s->marked);
	return s;
}

void slicer_free(struct slicer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->windows.n; i++)
		free(s->windows.v[i].scales.v);
	vec_free(&s->windows);
	alloc_threads_free(s->threads);
	thread_clocks_free(s->clocks);
	free(s);
}

uint64_t slicer_until(const struct slicer *s, uint64_t until)
{
	return s && s->next < until ? s->next : until;
}

void slicer_turn(struct slicer *s, uint64_t now)
{
	if (!s || now < s->next)
		return;
	if (always(s) || s->next == s->began + s->cycle.length) {
		end_cycle(s, now);
	} else if (s->open) {
		close_window(s, 1);
		s->next = s->began + s->cycle.length;
	} else {
		open_window(s);
		s->next = s->opened + s->cycle.open;
	}
}

void slicer_stop(struct slicer *s)
{
	if (!s)
		return;
	if (s->open)
		close_window(s, 1);
	see_closed(s);
	settle(s, 1);
	alloc_threads_forget(s->threads);
}

double slicer_owed(const struct slicer *s)
{
	return s ? alloc_threads_owed(s->threads) : 0;
}

int slicer_holds(const struct slicer *s, uint64_t time)
{
	const struct window *last = s && s->windows.n ? &s->windows.v[s->windows.n - 1] : NULL;

	return last && !last->settled && last->cycle.open < last->cycle.length &&
	       time >= last->begin;
}

/*
 * Records come in their order, but for moments: nobody asks for what was two slices ago any more.
 */
static void release(struct slicer *s, size_t until)
{
	for (; s->released + 2 < until; s->released++) {
		struct alloc_scales *scales = &s->windows.v[s->released].scales;

		free(scales->v);
		scales->v = NULL;
		scales->n = 0;
	}
}

double slicer_scale(struct slicer *s, uint64_t time, uint32_t tid)
{
	size_t i = s ? s->windows.n : 0;
	const struct window *w;

	while (i > 1 && s->windows.v[i - 1].begin > time)
		i--;
	if (!i)
		return 1;
	release(s, i);
	w = &s->windows.v[i - 1];
	return w->settled && w->cycle.open < w->cycle.length ? alloc_scales_of(&w->scales, tid) : 1;
}

int slicer_endless(const struct slicer *s)
{
	return s && s->slices.endless;
}

void slicer_tell(const struct slicer *s, struct slicer_result *r)
{
	if (!s)
		return;
	*r = s->result;
	r->traps = alloc_threads_traps(s->threads);
	r->error = alloc_threads_error(s->threads);
	r->endless = s->slices.endless;
	r->overhead = s->slices.worked > 0 ? s->slices.spent / s->slices.worked : 0;
}
