/* SPDX-License-Identifier: MIT */
#include "profile/window.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/thread.h"
#include "base/vec.h"
#include "profile/copy.h"
#include "profile/merge.h"
#include "profile/profile_fold.h"

/* How much more a sample became, of one type. */
struct change {
	uint32_t sample, type;
	uint64_t more;
};

/* Of a type, by sample. */
struct series {
	VEC(uint64_t) before;		/* values at the last update */
	VEC(uint64_t) recent;		/* what came in the window */
};

/* From one update to the next. */
struct step {
	uint64_t begin, end;		/* ns of sampling */
	uint64_t taken, lost, truncated;
	uint64_t most;			/* samples that the CPUs could have had; 0: not known */
	VEC(struct change) changes;
	int before;			/* they are of the profile that was renewed */
};

/* A profile that was copied, and what it was in the window. */
struct copied {
	struct profile *copy;		/* NULL: there is none */
	uint64_t folded;		/* how often it was, when it was last copied */
	VEC(struct series) series;	/* by type */
};

struct window {
	int fd;
	uint64_t span;			/* ns that are kept apart */
	pthread_mutex_t lock;		/* of all below */
	struct copied now;
	struct copied before;		/* the one that was renewed, while it is in the window */
	struct profile *past;		/* all before that, by functions; NULL: nothing */
	VEC(struct step) steps;		/* the oldest first */
	struct step total;		/* until now: ends at the last update */
};

struct window *window_new(uint64_t span)
{
	struct window *w = xcalloc(1, sizeof(*w));

	w->span = span;
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0) {
		free(w);
		return NULL;
	}
	thread_lock_init(&w->lock);
	w->now.copy = profile_new();
	return w;
}

static void copied_free(struct copied *c)
{
	for (size_t i = 0; i < c->series.n; i++) {
		vec_free(&c->series.v[i].before);
		vec_free(&c->series.v[i].recent);
	}
	vec_free(&c->series);
	profile_free(c->copy);
	*c = (struct copied){ 0 };
}

void window_free(struct window *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->steps.n; i++)
		vec_free(&w->steps.v[i].changes);
	vec_free(&w->steps);
	copied_free(&w->now);
	copied_free(&w->before);
	profile_free(w->past);
	pthread_mutex_destroy(&w->lock);
	close(w->fd);
	free(w);
}

/* Takes out of the window what is older than it. */
static void forget(struct window *w, uint64_t now)
{
	size_t n = 0;

	/* A step is as old as its middle: a window of ten steps has ten. */
	while (n < w->steps.n && (w->steps.v[n].begin + w->steps.v[n].end) / 2 + w->span < now) {
		struct step *s = &w->steps.v[n++];
		struct copied *of = s->before ? &w->before : &w->now;

		for (size_t i = 0; i < s->changes.n; i++)
			of->series.v[s->changes.v[i].type].recent.v[s->changes.v[i].sample] -=
				s->changes.v[i].more;
		vec_free(&s->changes);
	}
	for (size_t i = n; n && i < w->steps.n; i++)
		w->steps.v[i - n] = w->steps.v[i];
	w->steps.n -= n;
}

static uint64_t sum(const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	while (n--)
		total += r[n].count;
	return total;
}

/* What came of @type since the last update; nothing of a level, which does not come. */
static void add_changes(struct window *w, uint32_t type, struct step *s)
{
	struct profile_view v = profile_view(w->now.copy);
	const uint64_t *values = profile_values(w->now.copy, type);
	struct series *series = &w->now.series.v[type];

	for (size_t i = 0; i < v.nsamples; i++) {
		if (i == series->before.n) {
			vec_push(&series->before, 0);
			vec_push(&series->recent, 0);
		}
		if (v.types[type].words->measure != PROFILE_LEVEL &&
		    values[i] > series->before.v[i]) {
			struct change c = { (uint32_t)i, type, values[i] - series->before.v[i] };

			vec_push(&s->changes, c);
			series->recent.v[i] += c.more;
		}
		series->before.v[i] = values[i];
	}
}

/* Samples at a rate, and nothing else, are counted. */
static int has_rate(const struct profile *p)
{
	struct profile_view v = profile_view(p);

	return v.meta->frequency && v.ntypes == 1 &&
	       v.types[0].words->role == PROFILE_SAMPLES;
}

/* What came since the last update. */
static struct step step_of(struct window *w)
{
	struct profile_view v = profile_view(w->now.copy);
	const struct profile_account *a = v.account;
	const struct step before = w->total;
	struct step s = { .begin = before.end, .end = v.meta->duration };

	w->total = (struct step){ .end = v.meta->duration,
				  .taken = a->taken,
				  .lost = sum(a->lost, a->nlost),
				  .truncated = sum(a->truncated, a->ntruncated) };
	s.taken = w->total.taken - before.taken;
	s.lost = w->total.lost - before.lost;
	s.truncated = w->total.truncated - before.truncated;
	if (has_rate(w->now.copy))
		s.most = (uint64_t)((double)(s.end - s.begin) / 1e9 * (double)v.meta->frequency *
				    v.meta->cpus);
	for (uint32_t type = 0; type < v.ntypes; type++) {
		if (type == w->now.series.n)
			vec_push(&w->now.series, (struct series){ 0 });
		add_changes(w, type, &s);
	}
	return s;
}

/* Samples have the indexes that they got when the profile was folded. */
static void take_fold(struct window *w, const struct profile_folded *f)
{
	w->now.folded = f->times;
	for (size_t i = 0; i < w->now.series.n; i++) {
		struct series *s = &w->now.series.v[i];

		profile_fold_sums(f, s->recent.v, s->recent.n);
		s->recent.n = s->before.n = profile_fold_sums(f, s->before.v, s->before.n);
	}
	for (size_t i = 0; i < w->steps.n; i++)
		for (size_t k = 0; !w->steps.v[i].before && k < w->steps.v[i].changes.n; k++) {
			struct change *c = &w->steps.v[i].changes.v[k];

			c->sample = f->samples[c->sample];
		}
}

/* With the lock, which it gives back. */
static void take(struct window *w, const struct profile *p)
{
	const struct profile_folded folded = profile_folded(p);
	const uint64_t one = 1;
	struct step s;

	if (folded.times != w->now.folded)
		take_fold(w, &folded);
	profile_follow(w->now.copy, p);
	s = step_of(w);
	vec_push(&w->steps, s);
	forget(w, s.end);
	pthread_mutex_unlock(&w->lock);
	(void)!write(w->fd, &one, sizeof(one));
}

int window_update(struct window *w, const struct profile *p)
{
	if (pthread_mutex_trylock(&w->lock))
		return 0;
	take(w, p);
	return 1;
}

void window_finish(struct window *w, const struct profile *p)
{
	pthread_mutex_lock(&w->lock);
	take(w, p);
}

/* --- One profile after another. ------------------------------------------------------- */

static uint64_t number_of(const struct process *p)
{
	return (uint64_t)p->pid << 32 | p->incarnation;
}

/* What the profile of now does not have ended before it began, and is one process of its name. */
static void fold_past(struct profile *past, const struct profile *now)
{
	struct profile_view v = profile_view(past), n = profile_view(now);
	unsigned char *ended = xcalloc(v.nprocesses, 1);
	struct hashmap there = { 0 };

	for (uint32_t i = 0; i < n.nprocesses; i++)
		hashmap_set(&there, number_of(&n.processes[i]), i);
	for (size_t i = 0; i < v.nprocesses; i++)
		ended[i] = !process_is_ended(&v.processes[i]) &&
			   hashmap_get(&there, number_of(&v.processes[i])) == HASHMAP_NONE;
	profile_fold(past, ended, NULL, PROFILE_ENDED);
	hashmap_free(&there);
	free(ended);
}

/* The one that was renewed, when the window is over that it was in. */
static void settle(struct window *w)
{
	if (!w->before.copy || (w->steps.n && w->steps.v[0].before))
		return;
	if (!w->past)
		w->past = profile_new();
	profile_merge_samples(w->past, w->before.copy, COPY_FUNCTIONS);
	fold_past(w->past, w->now.copy);
	copied_free(&w->before);
}

int window_renew(struct window *w)
{
	if (pthread_mutex_trylock(&w->lock))
		return 0;
	settle(w);
	if (w->before.copy) {
		pthread_mutex_unlock(&w->lock);
		return 0;
	}
	w->before = w->now;
	w->now = (struct copied){ .copy = profile_new() };
	for (size_t i = 0; i < w->steps.n; i++)
		w->steps.v[i].before = 1;
	pthread_mutex_unlock(&w->lock);
	return 1;
}

/* --- For who shows it. ---------------------------------------------------------------- */

int window_fd(const struct window *w)
{
	return w->fd;
}

void window_clear(struct window *w)
{
	uint64_t n;

	(void)!read(w->fd, &n, sizeof(n));
}

static const uint64_t *recent(const struct copied *c, uint32_t type)
{
	return c->series.v[type].recent.v;
}

/* What was updated last: the next one says what it is of with its first update. */
static const struct copied *newest(const struct window *w)
{
	return w->now.series.n || !w->before.copy ? &w->now : &w->before;
}

struct window_show window_show(struct window *w, int since_start, const struct part_choice *c)
{
	struct window_show show = { 0 };
	const struct copied *last;
	struct profile_view v;

	pthread_mutex_lock(&w->lock);
	settle(w);
	last = newest(w);
	v = profile_view(last->copy);
	show.type = part_type(last->copy, c);
	show.ntypes = (uint32_t)v.ntypes;
	show.level = v.types[show.type].words->measure == PROFILE_LEVEL;
	show.rate = has_rate(last->copy);
	since_start |= show.level || show.type >= last->series.n;
	show.profile = part_new(last->copy, since_start ? NULL : recent(last, show.type), c);
	if (w->before.copy && last != &w->before)
		part_add(show.profile, w->before.copy,
			 since_start ? NULL : recent(&w->before, show.type), c);
	if (w->past && since_start)
		part_add(show.profile, w->past, NULL, c);
	show.since_start = w->total.end;
	if (since_start) {
		show.span = w->total.end;
		show.taken = w->total.taken;
		show.lost = w->total.lost;
		show.truncated = w->total.truncated;
	}
	for (size_t i = 0; !since_start && i < w->steps.n; i++) {
		show.span += w->steps.v[i].end - w->steps.v[i].begin;
		show.taken += w->steps.v[i].taken;
		show.lost += w->steps.v[i].lost;
		show.truncated += w->steps.v[i].truncated;
	}
	pthread_mutex_unlock(&w->lock);
	profile_meta(show.profile)->duration = show.span;
	return show;
}

uint64_t window_duration(struct window *w)
{
	uint64_t ns;

	pthread_mutex_lock(&w->lock);
	ns = w->total.end;
	pthread_mutex_unlock(&w->lock);
	return ns;
}

size_t window_steps(struct window *w, struct window_step *steps, size_t n)
{
	size_t first;

	pthread_mutex_lock(&w->lock);
	first = w->steps.n > n ? w->steps.n - n : 0;
	n = w->steps.n - first;
	for (size_t i = 0; i < n; i++) {
		const struct step *s = &w->steps.v[first + i];
		double busy = s->most ? (double)s->taken / (double)s->most : 0;

		steps[i] = (struct window_step){ busy > 1 ? 1 : busy, s->taken, s->lost,
					       s->truncated };
	}
	pthread_mutex_unlock(&w->lock);
	return n;
}
