/* SPDX-License-Identifier: MIT */
#include "tui/live.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/vec.h"

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
};

struct live {
	int fd;
	uint64_t window;
	pthread_mutex_t lock;		/* of all below */
	struct profile *copy;
	uint64_t folded;		/* how often it was, when it was last copied */
	VEC(struct series) series;	/* by type */
	VEC(struct step) steps;		/* the oldest first */
	struct step total;		/* until now: ends at the last update */
};

struct live *live_new(uint64_t window)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->window = window;
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd < 0) {
		free(l);
		return NULL;
	}
	thread_lock_init(&l->lock);
	l->copy = profile_new();
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->steps.n; i++)
		vec_free(&l->steps.v[i].changes);
	vec_free(&l->steps);
	for (size_t i = 0; i < l->series.n; i++) {
		vec_free(&l->series.v[i].before);
		vec_free(&l->series.v[i].recent);
	}
	vec_free(&l->series);
	profile_free(l->copy);
	pthread_mutex_destroy(&l->lock);
	close(l->fd);
	free(l);
}

/* Takes out of the window what is older than it. */
static void forget(struct live *l, uint64_t now)
{
	size_t n = 0;

	/* A step is as old as its middle: a window of ten steps has ten. */
	while (n < l->steps.n && (l->steps.v[n].begin + l->steps.v[n].end) / 2 + l->window < now) {
		struct step *s = &l->steps.v[n++];

		for (size_t i = 0; i < s->changes.n; i++)
			l->series.v[s->changes.v[i].type].recent.v[s->changes.v[i].sample] -=
				s->changes.v[i].more;
		vec_free(&s->changes);
	}
	for (size_t i = n; n && i < l->steps.n; i++)
		l->steps.v[i - n] = l->steps.v[i];
	l->steps.n -= n;
}

static uint64_t sum(const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	while (n--)
		total += r[n].count;
	return total;
}

/* What came of @type since the last update; nothing of a level, which does not come. */
static void add_changes(struct live *l, uint32_t type, struct step *s)
{
	struct profile_view v = profile_view(l->copy);
	const uint64_t *values = profile_values(l->copy, type);
	struct series *series = &l->series.v[type];

	for (size_t i = 0; i < v.nsamples; i++) {
		if (i == series->before.n) {
			vec_push(&series->before, 0);
			vec_push(&series->recent, 0);
		}
		if (!v.types[type].level && values[i] > series->before.v[i]) {
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
	       !strcmp(profile_text(p, v.types[0].name), "samples");
}

/* What came since the last update. */
static struct step step_of(struct live *l)
{
	struct profile_view v = profile_view(l->copy);
	const struct profile_account *a = v.account;
	const struct step before = l->total;
	struct step s = { .begin = before.end, .end = v.meta->duration };

	l->total = (struct step){ .end = v.meta->duration,
				  .taken = a->taken,
				  .lost = sum(a->lost, a->nlost),
				  .truncated = sum(a->truncated, a->ntruncated) };
	s.taken = l->total.taken - before.taken;
	s.lost = l->total.lost - before.lost;
	s.truncated = l->total.truncated - before.truncated;
	if (has_rate(l->copy))
		s.most = (uint64_t)((double)(s.end - s.begin) / 1e9 * (double)v.meta->frequency *
				    v.meta->cpus);
	for (uint32_t type = 0; type < v.ntypes; type++) {
		if (type == l->series.n)
			vec_push(&l->series, (struct series){ 0 });
		add_changes(l, type, &s);
	}
	return s;
}

/* Samples have the indexes that they got when the profile was folded. */
static void take_fold(struct live *l, const struct profile_folded *f)
{
	l->folded = f->times;
	for (size_t i = 0; i < l->series.n; i++) {
		struct series *s = &l->series.v[i];

		profile_fold_sums(f, s->recent.v, s->recent.n);
		s->recent.n = s->before.n = profile_fold_sums(f, s->before.v, s->before.n);
	}
	for (size_t i = 0; i < l->steps.n; i++)
		for (size_t k = 0; k < l->steps.v[i].changes.n; k++) {
			struct change *c = &l->steps.v[i].changes.v[k];

			c->sample = f->samples[c->sample];
		}
}

int live_update(struct live *l, const struct profile *p)
{
	const struct profile_folded folded = profile_folded(p);
	const uint64_t one = 1;
	struct step s;

	if (pthread_mutex_trylock(&l->lock))
		return 0;
	if (folded.times != l->folded)
		take_fold(l, &folded);
	profile_follow(l->copy, p);
	s = step_of(l);
	vec_push(&l->steps, s);
	forget(l, s.end);
	pthread_mutex_unlock(&l->lock);
	(void)!write(l->fd, &one, sizeof(one));
	return 1;
}

int live_fd(const struct live *l)
{
	return l->fd;
}

void live_clear(struct live *l)
{
	uint64_t n;

	(void)!read(l->fd, &n, sizeof(n));
}

struct live_show live_show(struct live *l, int since_start, const struct shown_choice *c)
{
	struct live_show show = { 0 };
	struct profile_view v;

	pthread_mutex_lock(&l->lock);
	v = profile_view(l->copy);
	show.type = shown_type(l->copy, c);
	show.ntypes = (uint32_t)v.ntypes;
	show.level = v.types[show.type].level;
	show.rate = has_rate(l->copy);
	since_start |= show.level || show.type >= l->series.n;
	show.profile = shown_new(l->copy, since_start ? NULL : l->series.v[show.type].recent.v, c);
	show.since_start = l->total.end;
	if (since_start) {
		show.span = l->total.end;
		show.taken = l->total.taken;
		show.lost = l->total.lost;
		show.truncated = l->total.truncated;
	}
	for (size_t i = 0; !since_start && i < l->steps.n; i++) {
		show.span += l->steps.v[i].end - l->steps.v[i].begin;
		show.taken += l->steps.v[i].taken;
		show.lost += l->steps.v[i].lost;
		show.truncated += l->steps.v[i].truncated;
	}
	pthread_mutex_unlock(&l->lock);
	profile_meta(show.profile)->duration = show.span;
	return show;
}

uint64_t live_duration(struct live *l)
{
	uint64_t ns;

	pthread_mutex_lock(&l->lock);
	ns = l->total.end;
	pthread_mutex_unlock(&l->lock);
	return ns;
}

size_t live_steps(struct live *l, struct live_step *steps, size_t n)
{
	size_t first;

	pthread_mutex_lock(&l->lock);
	first = l->steps.n > n ? l->steps.n - n : 0;
	n = l->steps.n - first;
	for (size_t i = 0; i < n; i++) {
		const struct step *s = &l->steps.v[first + i];
		double busy = s->most ? (double)s->taken / (double)s->most : 0;

		steps[i] = (struct live_step){ busy > 1 ? 1 : busy, s->taken, s->lost,
					       s->truncated };
	}
	pthread_mutex_unlock(&l->lock);
	return n;
}
