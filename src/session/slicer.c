/* SPDX-License-Identifier: MIT */
#include "session/slicer.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/vec.h"

/* A slice, or a cycle that is open from its beginning to its end. */
struct window {
	struct alloc_cycle cycle;
	uint64_t begin, open;
	double scale;		/* 0: it is not known yet, until the next one begins */
};

struct slicer {
	const struct slicer_options *o;
	struct collector *collector;
	struct alloc_slices slices;
	struct alloc_cycle cycle;
	uint64_t began, next;	/* the cycle; the next change */
	int open;		/* calls are sampled */
	uint64_t opened;
	VEC(struct window) windows;
	VEC(struct task { pid_t pid; clockid_t clock; uint64_t used; }) tasks;
	uint64_t gone;		/* CPU time of those that are no more */
	/* At the last change. */
	uint64_t marked, cpu, programs;
	struct ebp_counters counters;
	struct slicer_result result;
	unsigned short random[3];
};

static void add_task(struct slicer *s, pid_t pid)
{
	struct task t = { .pid = pid };

	for (size_t i = 0; i < s->tasks.n; i++)
		if (s->tasks.v[i].pid == pid)
			return;
	if (!clock_getcpuclockid(pid, &t.clock))
		vec_push(&s->tasks, t);
}

/* What one that has exited had used stays. */
static uint64_t cpu_time(struct slicer *s)
{
	uint64_t sum = 0;

	for (size_t i = s->tasks.n; i-- > 0;) {
		struct task *t = &s->tasks.v[i];
		struct timespec now;

		if (clock_gettime(t->clock, &now)) {
			s->gone += t->used;
			*t = s->tasks.v[--s->tasks.n];
			continue;
		}
		t->used = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		sum += t->used;
	}
	return s->gone + sum;
}

/* What happened since the last change. */
static struct alloc_seen see(struct slicer *s)
{
	const struct slicer_options *o = s->o;
	struct ebp_counters was = s->counters;
	uint64_t cpu = cpu_time(s), now = clock_ns(), programs = alloc_links_program_time(collector_alloc_links(s->collector));
	double ends, resizes, ran = (double)(programs - s->programs);
	struct alloc_seen seen = { .wall = (double)(now - s->marked), .cpu = cpu > s->cpu ? (double)(cpu - s->cpu) : 0 };

	collector_counters(s->collector, &s->counters);
	resizes = (double)(s->counters.alloc_resizes - was.alloc_resizes);
	ends = (double)(s->counters.alloc_ends - was.alloc_ends);
	seen.calls = o->call_ns * (double)(s->counters.alloc_calls - was.alloc_calls);
	*(s->slices.endless ? &seen.calls : &seen.ends) += o->call_ns * resizes;
	seen.ends += o->end_ns * ends;
	/* The programs' part goes with that of their traps. */
	if (seen.calls + seen.ends > 0) {
		double times = 1 + ran / (seen.calls + seen.ends);

		seen.calls *= times;
		seen.ends *= times;
	}
	s->marked = now;
	s->cpu = cpu;
	s->programs = programs;
	return seen;
}

static int always(const struct slicer *s)
{
	return s->cycle.open >= s->cycle.length;
}

/* As much is known of the time on both sides of the last slice as ever will be. */
static void settle(struct slicer *s)
{
	struct window *w = s->windows.n ? &s->windows.v[s->windows.n - 1] : NULL;

	if (!w || w->scale > 0)
		return;
	w->scale = alloc_slices_scale(&s->slices, &w->cycle, w->open);
	alloc_slices_age(&s->slices);
}

static void see_closed(struct slicer *s)
{
	struct alloc_seen seen = see(s);

	alloc_slices_closed(&s->slices, &seen);
}

static void open_window(struct slicer *s)
{
	if (!s->open) {
		s->result.failed += alloc_links_resume(collector_alloc_links(s->collector)) != 0;
		see_closed(s);
		settle(s);
	}
	s->open = 1;
	s->opened = clock_ns();
	s->result.slices += !always(s);
	vec_push(&s->windows, (struct window){ s->cycle, s->opened, 0, always(s) ? 1 : 0 });
}

/* What is seen while the probes go, for which the kernel waits a while, is not of the slice. */
static void close_window(struct slicer *s, int pause)
{
	struct alloc_seen seen = see(s);
	uint64_t open = s->marked - s->opened;

	if (pause)
		alloc_links_pause(collector_alloc_links(s->collector));
	alloc_slices_open(&s->slices, &s->cycle, &seen);
	s->result.open += open;
	s->windows.v[s->windows.n - 1].open = open;
	s->open = !pause;
}

static void begin_cycle(struct slicer *s, uint64_t at)
{
	s->began = at;
	s->cycle = alloc_slices_plan(&s->slices, erand48(s->random), erand48(s->random));
	if (!always(s)) {
		s->result.all = 0;
		if (s->open) {
			alloc_links_pause(collector_alloc_links(s->collector));
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
		settle(s);
		alloc_slices_give_up(&s->slices);
		alloc_links_give_up_ends(collector_alloc_links(s->collector));
		s->open = 0;
	}
	begin_cycle(s, end + s->cycle.length > now ? end : now);
}

struct slicer *slicer_new(struct collector *c, const struct slicer_options *o)
{
	struct slicer *s = xcalloc(1, sizeof(*s));
	uint64_t seed = clock_ns();

	s->o = o;
	s->collector = c;
	s->slices = o->slices;
	s->result.all = 1;
	for (size_t i = 0; i < o->probes->nplaces; i++)
		add_task(s, o->probes->places[i].pid);
	for (int i = 0; i < 3; i++)
		s->random[i] = (unsigned short)(seed >> (8 * i));
	s->marked = clock_ns();
	s->cpu = cpu_time(s);
	collector_counters(c, &s->counters);
	begin_cycle(s, s->marked);
	return s;
}

void slicer_free(struct slicer *s)
{
	if (!s)
		return;
	vec_free(&s->windows);
	vec_free(&s->tasks);
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
	settle(s);
}

void slicer_fork(struct slicer *s, pid_t pid)
{
	if (s)
		add_task(s, pid);
}

int slicer_holds(const struct slicer *s, uint64_t time)
{
	const struct window *last = s && s->windows.n ? &s->windows.v[s->windows.n - 1] : NULL;

	return last && last->scale <= 0 && time >= last->begin;
}

double slicer_scale(const struct slicer *s, uint64_t time)
{
	size_t i = s ? s->windows.n : 0;
	const struct window *w;

	while (i > 1 && s->windows.v[i - 1].begin > time)
		i--;
	if (!i)
		return 1;
	w = &s->windows.v[i - 1];
	return w->scale > 0 ? w->scale : alloc_slices_scale(&s->slices, &w->cycle, w->open);
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
	r->traps = alloc_slices_traps(&s->slices);
	r->endless = s->slices.endless;
	r->overhead = s->slices.worked > 0 ? s->slices.spent / s->slices.worked : 0;
}
