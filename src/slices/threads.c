/* SPDX-License-Identifier: MIT */
#include "slices/threads.h"

#include <math.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/search.h"
#include "base/vec.h"

/* weight of the calls before the last slice, for who calls now */
#define AGED 0.6
/*
 * By how much what a trap takes in a program may differ from where it was measured: in ten
 * recordings on busy CPUs up to 0.16.
 */
#define PRICE_ERROR 0.2
/*
 * Where traps take nearly all of the time a rate is the difference of two that are nearly the same;
 * in 21 recordings of functions of some ns counts were 0.17 to 2.7 times the truth.
 */
#define ERROR_MOST 2.0
#define FULL_SHARE 0.1		/* of the calls of the busiest thread */
/*
 * By how much of it one slice's rate differs from another's where few are known: as if one more
 * had been seen that differs so much. Of one slice nothing is known, and two may be alike by
 * chance.
 */
#define USUAL_SPREAD 0.15

struct thread {
	struct ebp_sliced_thread now, was;
	int listed, known;	/* in this look; and in the last one, too */
	double lately;		/* calls in slices */
	struct slice_pace pace;
	/* Of all slices in which it ran: their number, and sums of calls n and work w. */
	double slices, n, w, nn, nw, ww;
};

struct slice_threads {
	VEC(struct thread) v;	/* the first is thread 0 */
	struct hashmap index;	/* tid -> index */
	int looked;		/* there was a look that the next one follows */
	double owed;		/* calls that are known of, but for which no slice stands; */
	/* those of them by threads that ran in no slice: by what the others do */
	double guessed;
	VEC(struct slice_scale) gone;	/* threads of the last slice that have exited */
	/*
	 * Calls; times the part that traps took; times the error by that; and the square of the
	 * error by chance.
	 */
	double estimated, traps, error, variance;
	double n, w;		/* of all threads in slices */
};

struct slice_threads *slice_threads_new(void)
{
	struct slice_threads *t = xcalloc(1, sizeof(*t));

	vec_push(&t->v, (struct thread){ 0 });
	return t;
}

void slice_threads_free(struct slice_threads *t)
{
	if (!t)
		return;
	vec_free(&t->v);
	vec_free(&t->gone);
	hashmap_free(&t->index);
	free(t);
}

void slice_threads_list(struct slice_threads *t, const struct ebp_sliced_thread *thread)
{
	uint32_t i = hashmap_put(&t->index, thread->tid, (uint32_t)t->v.n);
	struct thread *at;

	if (i == t->v.n)
		vec_push(&t->v, (struct thread){ 0 });
	at = &t->v.v[i];
	/* The id is another thread's now; what the old one did is not known any more. */
	if (at->known && at->was.start != thread->start)
		*at = (struct thread){ 0 };
	at->now = *thread;
	at->listed = 1;
}

static double since(uint64_t now, uint64_t was)
{
	return now > was ? (double)(now - was) : 0;
}

/* What thread @i did; of the rest, what those did that have exited. */
static struct slice_ran ran_of(struct slice_threads *t, size_t i, const struct slice_passed *passed,
			       struct slice_ran *rest)
{
	struct thread *at = &t->v.v[i];
	struct slice_ran ran = { 0 };

	/* Of one that is new @was is zeros: it has begun since the last look. */
	if (at->listed) {
		ran.cpu = since(at->now.cpu, at->was.cpu);
		ran.calls = since(at->now.calls, at->was.calls);
		ran.cost = ran.calls * passed->call_ns + since(at->now.spent, at->was.spent);
		if (!passed->knows_exited)
			rest->cpu += at->known ? since(at->now.exited, at->was.exited) : 0;
	} else {
		rest->cpu -= (double)at->was.cpu;	/* it is in what exited */
	}
	rest->calls -= ran.calls;
	return ran;
}

static void pass(struct slice_threads *t, size_t i, const struct slice_ran *ran, int open)
{
	struct thread *at = &t->v.v[i];
	double work = slice_work_of(ran);

	if (!open) {
		slice_pace_closed(&at->pace, ran);
		return;
	}
	slice_pace_open(&at->pace, ran);
	if (work <= 0)
		return;
	at->slices++;
	at->n += ran->calls;
	at->w += work;
	at->nn += ran->calls * ran->calls;
	at->nw += ran->calls * work;
	at->ww += work * work;
	t->n += ran->calls;
	t->w += work;
}

/* Calls for each ns of work of thread @i. */
static double rate_of(const struct slice_threads *t, size_t i)
{
	const struct thread *at = &t->v.v[i];

	if (at->pace.work > 0)
		return at->pace.calls / at->pace.work;
	if (at->w > 0)
		return at->n / at->w;
	return t->w > 0 ? t->n / t->w : 0;
}

/* By how much of it a rate may be wrong that is by the price of traps. */
static double price_error(const struct slice_pace *p)
{
	double traps = slice_pace_traps(p), error = PRICE_ERROR * traps / (1 - traps);

	return error < ERROR_MOST ? error : ERROR_MOST;
}

/* No slice will stand for what thread @i did lately. */
static void owe(struct slice_threads *t, size_t i)
{
	const struct slice_pace *p = &t->v.v[i].pace;
	double calls = rate_of(t, i) * (p->before + p->gap);

	t->owed += calls;
	t->error += calls * price_error(p);
	t->guessed += t->v.v[i].w > 0 ? 0 : calls;
}

/*
 * How far from the truth what thread @i is estimated at may be, by how much its rate differs from
 * slice to slice.
 */
static double chance_of(const struct thread *at)
{
	double r = at->n / at->w, square = at->nn - 2 * r * at->nw + r * r * at->ww,
	       usual = USUAL_SPREAD * at->n / at->slices;

	return sqrt((square > 0 ? square : 0) + usual * usual) / at->n;
}

/* Those that have exited go; what is there now is what the next look follows. */
static void turn(struct slice_threads *t)
{
	for (size_t i = t->v.n; i-- > 1;) {
		struct thread *at = &t->v.v[i];

		at->was = at->now;
		at->known = 1;
		if (at->listed) {
			at->listed = 0;
			continue;
		}
		owe(t, i);
		t->estimated += at->pace.last;
		if (at->pace.last > 0)
			vec_push(&t->gone, (struct slice_scale){ at->now.tid, 1 });
		hashmap_del(&t->index, at->now.tid);
		*at = t->v.v[--t->v.n];
		if (i < t->v.n)
			hashmap_set(&t->index, at->now.tid, (uint32_t)i);
	}
	t->looked = 1;
}

double slice_threads_weight(double calls, double most)
{
	double share = most > 0 ? calls / (FULL_SHARE * most) : 1;

	return share < 1 ? share : 1;
}

static struct slices_seen weigh(struct slice_threads *t, const struct slice_ran *all,
			       const struct slice_passed *passed)
{
	struct slices_seen seen = { .wall = passed->wall,
				   .calls = passed->cost,
				   .ends = passed->ends };
	double most = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		struct thread *at = &t->v.v[i];

		if (passed->open)
			at->lately = AGED * at->lately + all[i].calls;
		if (at->lately > most)
			most = at->lately;
	}
	for (size_t i = 0; i < t->v.n; i++)
		seen.cpu += all[i].cpu * slice_threads_weight(t->v.v[i].lately, most);
	return seen;
}

/*
 * What those did that have exited and are known, in @work ns of their own since they were listed:
 * each has a part of it by the time that it ran. 0 where nothing is known of any.
 */
static int owe_of_exited(struct slice_threads *t, double work)
{
	double calls = 0, cpu = 0, error = 0;

	for (size_t i = 1; i < t->v.n; i++)
		if (!t->v.v[i].listed) {
			double each = rate_of(t, i) * (double)t->v.v[i].was.cpu;

			calls += each;
			error += each * price_error(&t->v.v[i].pace);
			cpu += (double)t->v.v[i].was.cpu;
		}
	if (cpu <= 0 || calls <= 0)
		return 0;
	t->owed += calls / cpu * work;
	t->error += error / cpu * work;
	return 1;
}

struct slices_seen slice_threads_look(struct slice_threads *t, const struct slice_passed *passed)
{
	struct slice_ran rest = { .calls = passed->calls, .cpu = passed->exited }, *all;
	struct slices_seen seen = { .wall = passed->wall };

	if (t->looked) {
		all = xcalloc(t->v.n, sizeof(*all));
		for (size_t i = 1; i < t->v.n; i++)
			all[i] = ran_of(t, i, passed, &rest);
		all[0] = rest;
		all[0].cpu = rest.cpu > 0 ? rest.cpu : 0;
		all[0].calls = rest.calls > 0 ? rest.calls : 0;
		all[0].cost = all[0].calls * passed->each_ns;
		if (!passed->open && owe_of_exited(t, slice_work_of(&all[0])))
			all[0].cpu = 0;
		for (size_t i = 0; i < t->v.n; i++)
			pass(t, i, &all[i], passed->open);
		seen = weigh(t, all, passed);
		free(all);
	}
	turn(t);
	return seen;
}

void slice_threads_miss(struct slice_threads *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i].listed = 0;
	t->looked = 0;
}

void slice_threads_forget(struct slice_threads *t)
{
	for (size_t i = 0; i < t->v.n; i++) {
		owe(t, i);
		t->v.v[i].pace = (struct slice_pace){ 0 };
	}
}

/* For how many calls the slice of a thread stands, and how sure that is. */
static void account(struct slice_threads *t, const struct thread *at, double calls)
{
	double chance = at->n > 0 ? calls * chance_of(at) : 0;

	t->estimated += calls;
	t->traps += calls * slice_pace_traps(&at->pace);
	t->error += calls * price_error(&at->pace);
	t->variance += chance * chance * at->slices;
}

static int by_tid(const void *a, const void *b)
{
	const struct slice_scale *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

struct slice_scales slice_threads_settle(struct slice_threads *t, int last)
{
	struct slice_scales s = { .v = xcalloc(t->v.n + t->gone.n, sizeof(*s.v)) };
	double seen = 0, stood = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		struct thread *at = &t->v.v[i];
		double calls = at->pace.last, times = slice_pace_settle(&at->pace, last);

		account(t, at, times * calls);
		seen += calls;
		stood += times * calls;
		if (!i)
			s.others = times;
		else if (calls > 0)
			s.v[s.n++] = (struct slice_scale){ at->was.tid, times };
	}
	while (t->gone.n)
		s.v[s.n++] = t->gone.v[--t->gone.n];
	s.mean = seen > 0 ? stood / seen : 1;
	qsort(s.v, s.n, sizeof(*s.v), by_tid);
	return s;
}

void slice_threads_settle_whole(struct slice_threads *t)
{
	for (size_t i = 0; i < t->v.n; i++) {
		t->estimated += t->v.v[i].pace.last;
		slice_pace_settle_whole(&t->v.v[i].pace);
	}
	t->gone.n = 0;
}

double slice_scales_of(const struct slice_scales *s, uint32_t tid)
{
	size_t n = upper_bound(s->v, s->n, .tid, tid);

	return n && s->v[n - 1].tid == tid ? s->v[n - 1].times : s->others;
}

double slice_threads_traps(const struct slice_threads *t)
{
	return t->estimated > 0 ? t->traps / t->estimated : 0;
}

double slice_threads_error(const struct slice_threads *t)
{
	double all = t->estimated + t->owed;

	return t->estimated > 0
		       ? (sqrt(t->error * t->error + t->variance) + t->guessed) / all
		       : 0;
}

double slice_threads_owed(const struct slice_threads *t)
{
	return t->estimated > 0 ? t->owed / t->estimated : 0;
}
