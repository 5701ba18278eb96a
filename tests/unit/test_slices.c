/* SPDX-License-Identifier: MIT */
#include "slices/slices.h"

#include <math.h>
#include <stdlib.h>

#include "slices/threads.h"
#include "unit/test.h"

#define MS 1e6
#define SECOND 1e9

/*
 * What calls and ends of calls cost each second of the program's own time, as far as it is known
 * before.
 */
static double calls_cost, ends_cost;

static struct slices_costs costs_of(double calls, double ends)
{
	return (struct slices_costs){ .calls = calls, .ends = ends, .all_calls = calls,
				      .unknown = !(calls > 0) };
}

/* A program on one CPU: it has something to do for a while, and then for a while not. */
struct program {
	/* ns of work that comes at once; ns between its ends and the next */
	double busy, idle;
	double trap, end;	/* cost of each call that gives a block, and of its free, in ns */
	double every;		/* ns of work for one of each */
	/* what is taken for the cost of the ends is wrong by up to this share of it */
	double unknown;
	/* How it is. */
	double left, wait;
	double calls;		/* all there ever were */
	double cpu, trapped;	/* CPU time; calls that were trapped */
};

#define FINE 1000		/* a call is so many, for the kernel's numbers are whole */

/*
 * Runs for @wall ns with probes of calls, of ends, or not; what the kernel then says of its thread
 * is in @now.
 */
static struct slice_passed go_on(struct program *p, double wall, int calls, int ends,
				 struct ebp_sliced_thread *now)
{
	struct slice_passed passed = { .wall = wall, .call_ns = p->trap, .open = calls };
	double price = 1 + p->unknown * (2 * drand48() - 1), cpu = 0;
	double each = p->every + (calls ? p->trap : 0) + (ends ? p->end : 0), part,
	       before = p->calls;

	while (wall > 0) {
		if (p->left <= 0) {
			part = p->wait < wall ? p->wait : wall;
			p->wait -= part;
			wall -= part;
			if (p->wait <= 0) {
				p->left = p->busy * 2 * drand48();
				p->wait = p->idle * 2 * drand48();
			}
			continue;
		}
		part = p->left / p->every * each < wall ? p->left / p->every * each : wall;
		cpu += part;
		passed.ends += ends ? part / each * p->end * price : 0;
		p->calls += part / each;
		p->left -= part / each * p->every;
		wall -= part;
		if (p->left < 1e-6)
			p->left = 0;
	}
	passed.calls = calls ? p->calls - before : 0;
	/* Whole numbers: what is left comes the next time. */
	p->cpu += cpu;
	p->trapped += passed.calls;
	now->cpu = (uint64_t)p->cpu;
	now->calls = (uint64_t)(FINE * p->trapped);
	passed.calls *= FINE;
	passed.call_ns /= FINE;
	passed.cost = passed.calls * passed.call_ns;
	passed.each_ns = passed.call_ns;
	return passed;
}

struct outcome {
	double ratio;		/* what was estimated / what was */
	double overhead;	/* budgets that were spent */
	int endless;
};

static struct slices_seen look(struct slice_threads *t, struct program *p, double wall, int calls,
			      int ends)
{
	struct ebp_sliced_thread now = { .tid = 1, .start = 1 };
	struct slice_passed passed = go_on(p, wall, calls, ends, &now);

	slice_threads_list(t, &now);
	return slice_threads_look(t, &passed);
}

/* For what calls the last slice of @cycle stands, which had @seen. */
static double stands_for(struct slice_threads *t, const struct slices_cycle *cycle, double seen,
			 int last)
{
	struct slice_scales scales = { 0 };
	double times;

	if (cycle->open >= cycle->length) {
		slice_threads_settle_whole(t);
		return seen;
	}
	scales = slice_threads_settle(t, last);
	times = slice_scales_of(&scales, 1);
	free(scales.v);
	return seen * times;
}

/* A recording of some cycles, as the slicer makes it. */
static struct outcome record(struct program p, double budget, int cycles)
{
	const struct slices_costs costs = costs_of(calls_cost, ends_cost);
	struct slice_threads *t = slice_threads_new();
	struct slices s;
	double estimate = 0, seen_calls = 0, before;
	struct slices_cycle cycle = { 0 }, last = { 0 };
	struct slices_seen seen;

	slices_begin(&s, budget, &costs);
	look(t, &p, 0, 0, 0);
	for (int i = 0; i <= cycles; i++) {
		/* in this order with every compiler */
		double where = drand48(), jitter = drand48();

		cycle = slices_plan(&s, where, jitter);
		seen = look(t, &p, (double)cycle.begin, 0, !s.endless);
		slices_closed(&s, &seen);
		if (last.open)
			estimate += stands_for(t, &last, seen_calls, cycle.open >= cycle.length);
		before = p.calls;
		seen = look(t, &p, (double)cycle.open, 1, !s.endless);
		seen_calls = p.calls - before;
		slices_open(&s, &seen);
		seen = look(t, &p, (double)(cycle.length - cycle.begin - cycle.open), 0,
			    !s.endless);
		slices_closed(&s, &seen);
		last = cycle;
		if (!slices_ends_are_dear(&s))
			continue;
		estimate += stands_for(t, &last, seen_calls, 1);
		slices_give_up(&s);
		slice_threads_forget(t);
		last = (struct slices_cycle){ 0 };
	}
	if (last.open)
		estimate += stands_for(t, &last, seen_calls, 1);
	slice_threads_forget(t);
	estimate *= 1 + slice_threads_owed(t);
	slice_threads_free(t);
	return (struct outcome){ estimate / p.calls, s.spent / s.worked / budget, s.endless };
}

#define RECORDINGS 2000

/*
 * The mean of many recordings is within three of its own standard errors of the truth, and @slack,
 * for an estimate that is a quotient of sums has a bias that goes with the number of its slices.
 */
static struct outcome many(struct program p, double budget, int cycles, double slack)
{
	double sum = 0, square = 0, overhead = 0, mean, error;
	struct outcome o = { 0 };

	for (int i = 0; i < RECORDINGS; i++) {
		o = record(p, budget, cycles);
		sum += o.ratio;
		square += o.ratio * o.ratio;
		overhead += o.overhead / RECORDINGS;
	}
	mean = sum / RECORDINGS;
	error = sqrt(fmax(square / RECORDINGS - mean * mean, 0) / RECORDINGS);
	if (fabs(mean - 1) > 3 * error + slack || error > 0.1)
		printf("estimated %.3f of the truth +- %.3f\n", mean, error);
	CHECK(fabs(mean - 1) <= 3 * error + slack);
	CHECK(error <= 0.1);
	o.overhead = overhead;
	return o;
}

/*
 * It uses all of a CPU, and a slice makes it thirty times slower: by time alone a thirtieth would
 * be estimated.
 */
TEST(busy)
{
	const struct program p = { .busy = 1000 * SECOND, .trap = 2900, .every = 100 };
	struct outcome o;

	calls_cost = 29;
	ends_cost = 0;
	o = many(p, 0.05, 60, 0.01);
	CHECK(o.overhead <= 1.1);
	CHECK(o.overhead >= 0.5);
	CHECK(!o.endless);
}

/* Its price is not known before: the first cycles cost more, and later ones less. */
TEST(busy_later)
{
	const struct program p = {
		.busy = 1000 * SECOND, .trap = 2900, .every = 100, .wait = SECOND
	};
	struct outcome o;

	calls_cost = 0;
	ends_cost = 0;
	o = many(p, 0.05, 60, 0.03);
	CHECK(o.overhead <= 1.2);
}

/* It mostly waits, and what it does comes in bursts, shorter and longer than a slice. */
TEST(waiting)
{
	const struct program often = {
		.busy = 2 * MS, .idle = 100 * MS, .trap = 1000, .every = 1000
	};
	const struct program seldom = {
		.busy = 50 * MS, .idle = 1500 * MS, .trap = 1000, .every = 1000
	};

	calls_cost = 1;
	ends_cost = 0;
	CHECK(many(often, 0.1, 60, 0.06).overhead <= 1.2);
	/* A slice has a least length: of so little CPU time the budget is a few ms. */
	CHECK(many(seldom, 0.1, 60, 0.06).overhead <= 3);
}

/* Phases of some seconds. */
TEST(phases)
{
	const struct program p = {
		.busy = 4 * SECOND, .idle = 4 * SECOND, .trap = 1000, .every = 1000
	};

	calls_cost = 1;
	ends_cost = 0;
	CHECK(many(p, 0.1, 60, 0.05).overhead <= 1.3);
}

/* Frees are seen all the time where they cost little, and are part of the cost. */
TEST(ends)
{
	const struct program p = { .busy = 1000 * SECOND, .trap = 300, .end = 20, .every = 1000 };
	struct outcome o;

	calls_cost = 0.3;
	ends_cost = 0.02;
	o = many(p, 0.05, 60, 0.01);
	CHECK(!o.endless);
	CHECK(o.overhead <= 1.1);
}

/* Where they alone cost too much they are not seen, from the beginning or as soon as that shows. */
TEST(dear_ends)
{
	const struct program p = { .busy = 1000 * SECOND, .trap = 300, .end = 200, .every = 1000 };
	struct slices_costs costs;
	struct slices s;

	calls_cost = 0.3;
	ends_cost = 0.2;
	costs = costs_of(calls_cost, ends_cost);
	slices_begin(&s, 0.05, &costs);
	CHECK(s.endless);
	calls_cost = ends_cost = 0;
	costs = costs_of(0, 0);
	slices_begin(&s, 0.05, &costs);
	CHECK(!s.endless);
	CHECK(many(p, 0.05, 60, 0.02).endless);
}

/*
 * Frees that cost far more than all the rest, and more or less from moment to moment: the few
 * slices until they are given up stand for little, for the program does little then.
 */
TEST(very_dear_ends)
{
	const struct program p = {
		.busy = 1000 * SECOND, .trap = 850, .end = 20000, .every = 4000, .unknown = 0.3
	};

	calls_cost = ends_cost = 0;
	CHECK(many(p, 0.2, 5, 0.05).endless);
}

/* What the budget has room for stays set, and counts once. */
TEST(always)
{
	const struct program p = { .busy = 1000 * SECOND, .trap = 10, .end = 10, .every = 1000 };
	struct slices_costs costs;
	struct slices s;
	struct slices_cycle cycle;
	struct outcome o;

	calls_cost = ends_cost = 0.01;
	costs = costs_of(calls_cost, ends_cost);
	slices_begin(&s, 0.05, &costs);
	cycle = slices_plan(&s, 0.5, 0.5);
	CHECK_EQ(cycle.open, cycle.length);
	o = record(p, 0.05, 20);
	CHECK(fabs(o.ratio - 1) < 1e-9);
}

int main(void)
{
	srand48(1);
	RUN(busy);
	RUN(busy_later);
	RUN(waiting);
	RUN(phases);
	RUN(ends);
	RUN(dear_ends);
	RUN(very_dear_ends);
	RUN(always);
	return TEST_END();
}
