/* SPDX-License-Identifier: MIT */
#include "slices/slicer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "slices/thread_clocks.h"
#include "slices/threads.h"

#define KEPT 100	/* windows whose scales are kept */

/* A slice, or a cycle that is open from its beginning to its end. */
struct window {
	struct slices_cycle cycle;
	uint64_t begin;
	int settled;		/* @scales are known, since the next one began */
	struct slice_scales scales;	/* all zeros: 1 each */
};

struct slicer {
	const struct slicer_ops *ops;
	void *ctx;
	struct slices slices;
	struct slices_cycle cycle;
	uint64_t began, next;	/* the cycle; the next change */
	int open;		/* calls are probed */
	uint64_t opened;
	VEC(struct window) windows;
	size_t released;	/* windows before it have no scales any more */
	struct slice_threads *threads;
	struct thread_clocks *clocks;
	uint64_t marked;	/* the last change */
	struct slicer_result result;
	unsigned short random[3];
};

static void list_thread(void *ctx, const struct ebp_sliced_thread *thread)
{
	struct slicer *s = ctx;
	struct ebp_sliced_thread exact = *thread;

	exact.cpu = thread_clocks_get(s->clocks, (pid_t)thread->tid, thread->start, thread->cpu,
				      thread->calls > 0);
	slice_threads_list(s->threads, &exact);
}

/* What happened since the last change; @open: in a slice. */
static struct slices_seen see(struct slicer *s, int open)
{
	uint64_t now = clock_ns();
	struct slice_passed passed = { .wall = (double)(now - s->marked), .open = open };

	s->marked = now;
	s->ops->passed(s->ctx, s->slices.endless, &passed);
	if (!s->ops->threads(s->ctx, list_thread, s)) {
		thread_clocks_sweep(s->clocks);
		return slice_threads_look(s->threads, &passed);
	}
	slice_threads_miss(s->threads);
	return (struct slices_seen){ .wall = passed.wall,
				    .calls = passed.cost,
				    .ends = passed.ends };
}

static int is_whole(const struct slices_cycle *c)
{
	return c->open >= c->length;
}

static int always(const struct slicer *s)
{
	return is_whole(&s->cycle);
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
	if (!is_whole(&w->cycle))
		w->scales = slice_threads_settle(s->threads, last);
	else
		slice_threads_settle_whole(s->threads);
	w->settled = 1;
}

static void see_closed(struct slicer *s)
{
	struct slices_seen seen = see(s, 0);

	slices_closed(&s->slices, &seen);
}

/* Times without an end that follow one another are one window. */
static int goes_on(const struct slicer *s)
{
	return s->windows.n && always(s) && is_whole(&s->windows.v[s->windows.n - 1].cycle);
}

/* Of long ago nobody asks any more. */
static void release(struct slicer *s)
{
	for (; s->released + KEPT < s->windows.n; s->released++) {
		free(s->windows.v[s->released].scales.v);
		s->windows.v[s->released].scales = (struct slice_scales){ 0 };
	}
}

static void open_window(struct slicer *s)
{
	if (s->ops->number)
		s->ops->number(s->ctx, slicer_last(s) + !goes_on(s));
	if (!s->open) {
		s->result.failed += s->ops->resume(s->ctx) != 0;
		see_closed(s);
	}
	settle(s, always(s));
	s->open = 1;
	s->opened = clock_ns();
	s->result.slices += !always(s);
	if (goes_on(s))
		s->windows.v[s->windows.n - 1].settled = 0;
	else
		vec_push(&s->windows, (struct window){ .cycle = s->cycle, .begin = s->opened });
	release(s);
}

/* What is seen while the probes go, for which the kernel waits a while, is not of the slice. */
static void close_window(struct slicer *s, int pause)
{
	struct slices_seen seen = see(s, 1);
	uint64_t open = s->marked - s->opened;

	if (pause)
		s->ops->pause(s->ctx);
	slices_open(&s->slices, &seen);
	s->result.open += open;
	s->open = !pause;
}

static void begin_cycle(struct slicer *s, uint64_t at)
{
	s->began = at;
	s->cycle = slices_plan(&s->slices, erand48(s->random), erand48(s->random));
	if (!always(s)) {
		s->result.all = 0;
		if (s->open) {
			s->ops->pause(s->ctx);
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
	if (s->ops->give_up_ends && slices_ends_are_dear(&s->slices)) {
		settle(s, 1);
		slices_give_up(&s->slices);
		slice_threads_forget(s->threads);
		s->ops->give_up_ends(s->ctx);
		s->open = 0;
	}
	begin_cycle(s, end + s->cycle.length > now ? end : now);
}

struct slicer *slicer_new(const struct slicer_ops *ops, void *ctx, const struct slices *slices,
			  int open)
{
	struct slicer *s = xcalloc(1, sizeof(*s));
	uint64_t seed = clock_ns();

	s->ops = ops;
	s->ctx = ctx;
	s->slices = *slices;
	s->open = open;
	s->result.all = 1;
	s->threads = slice_threads_new();
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
	slice_threads_free(s->threads);
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
	slice_threads_forget(s->threads);
}

double slicer_owed(const struct slicer *s)
{
	return s ? slice_threads_owed(s->threads) : 0;
}

uint32_t slicer_window(const struct slicer *s, uint64_t time)
{
	uint32_t i = slicer_last(s);

	while (i > 1 && s->windows.v[i - 1].begin > time)
		i--;
	return i;
}

uint32_t slicer_last(const struct slicer *s)
{
	return s ? (uint32_t)s->windows.n : 0;
}

int slicer_holds(const struct slicer *s, uint32_t window)
{
	const struct window *last = s && s->windows.n ? &s->windows.v[s->windows.n - 1] : NULL;

	return last && window == s->windows.n && !last->settled && !is_whole(&last->cycle);
}

/* NULL: each call counts once. */
static const struct slice_scales *scales_of(const struct slicer *s, uint32_t window)
{
	const struct window *w;

	if (!window || window > slicer_last(s))
		return NULL;
	w = &s->windows.v[window - 1];
	return w->settled && window > s->released && !is_whole(&w->cycle) ? &w->scales : NULL;
}

double slicer_scale(const struct slicer *s, uint32_t window, uint32_t tid)
{
	const struct slice_scales *scales = scales_of(s, window);

	return scales ? slice_scales_of(scales, tid) : 1;
}

double slicer_mean(const struct slicer *s, uint32_t window)
{
	const struct slice_scales *scales = scales_of(s, window);

	return scales ? scales->mean : 1;
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
	r->traps = slice_threads_traps(s->threads);
	r->error = slice_threads_error(s->threads);
	r->endless = s->slices.endless;
	r->overhead = s->slices.worked > 0 ? s->slices.spent / s->slices.worked : 0;
}
