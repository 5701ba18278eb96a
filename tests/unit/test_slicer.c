/* SPDX-License-Identifier: MIT */
#include "slices/slicer.h"

#include <stdlib.h>

#include "unit/test.h"

#define MS 1000000u

/* Probes of one thread, which uses all of its time, as the slicer sets them. */
struct probes {
	int set, resumes, pauses;
	uint32_t number;
	struct ebp_sliced_thread thread;
	double calls, cost;	/* in each time that they were set */
	uint64_t work;		/* ns of its own, in each time between two questions */
	struct slice_passed next;
};

static int resume(void *ctx)
{
	struct probes *p = ctx;

	CHECK(!p->set);
	p->set = 1;
	p->resumes++;
	return 0;
}

static void pause_probes(void *ctx)
{
	struct probes *p = ctx;

	CHECK(p->set);
	p->set = 0;
	p->pauses++;
}

static void number(void *ctx, uint32_t n)
{
	((struct probes *)ctx)->number = n;
}

static int list(void *ctx, thread_list_entry *fn, void *fn_ctx)
{
	fn(fn_ctx, &((struct probes *)ctx)->thread);
	return 0;
}

/* It is asked for before the threads are listed; while the probes are not set nothing is called. */
static void passed(void *ctx, int endless, struct slice_passed *to)
{
	struct probes *p = ctx;

	(void)endless;
	p->thread.cpu += p->work;
	if (!p->set)
		return;
	to->calls = p->calls;
	to->cost = p->cost;
	p->thread.cpu += (uint64_t)p->cost;
	p->thread.calls += (uint64_t)p->calls;
	p->thread.spent += (uint64_t)p->cost;
}

static const struct slicer_ops ops = { resume, pause_probes, number, list, passed, NULL };

/* A thread that is no process: so its CPU time is what the list says. */
#define NOBODY 0x7fffffff

static struct slicer *begin(struct probes *p, double calls)
{
	const struct slices_costs costs = { .calls = calls };
	struct slices slices;

	slices_begin(&slices, 0.1, &costs);
	slices.whole = 100 * MS;
	p->thread = (struct ebp_sliced_thread){ .tid = NOBODY, .start = 1 };
	p->set = 1;
	return slicer_new(&ops, p, &slices, 1);
}

static void turn(struct slicer *s)
{
	slicer_turn(s, slicer_until(s, UINT64_MAX));
}

/* What costs little is never taken away, is one window, and counts once. */
TEST(cheap)
{
	struct probes p = { .calls = 10, .work = 100 * MS };
	struct slicer *s = begin(&p, 0.0001);
	struct slicer_result r = { 0 };

	CHECK_EQ(p.number, 1);
	for (int i = 0; i < 20; i++)
		turn(s);
	CHECK(p.set && !p.resumes && p.number == 1);
	CHECK_EQ(slicer_last(s), 1);
	CHECK(!slicer_holds(s, 1));
	CHECK(slicer_scale(s, 1, NOBODY) == 1 && slicer_mean(s, 1) == 1);
	p.work = 0;
	slicer_stop(s);
	CHECK(!p.set);
	slicer_tell(s, &r);
	CHECK(r.all && !r.slices && slicer_owed(s) < 1e-9);
	slicer_free(s);
}

/*
 * What costs more has slices: each is a window whose calls count when the next one begins, and that
 * has half of the work on its two sides.
 */
TEST(dear)
{
	struct probes p = { .calls = 1000, .cost = 50 * MS, .work = 10 * MS };
	struct slicer *s = begin(&p, 5);
	struct slicer_result r = { 0 };
	double all = 0;

	CHECK(!p.set && p.pauses == 1);
	turn(s);
	CHECK(p.set && p.resumes == 1 && p.number == 1);
	CHECK(slicer_holds(s, 1) && !slicer_holds(s, 0));
	turn(s);
	CHECK(!p.set && slicer_holds(s, 1));
	for (int i = 0; i < 200; i++)
		turn(s);
	CHECK(p.number > 60 && p.number == slicer_last(s));
	CHECK(!slicer_holds(s, 1) && slicer_holds(s, slicer_last(s)));
	slicer_stop(s);
	CHECK(!slicer_holds(s, slicer_last(s)));
	/* 1000 calls for 10 ms of work in a slice; before it are one or two looks of 10 ms. */
	for (uint32_t w = 1; w <= slicer_last(s); w++) {
		CHECK(slicer_scale(s, w, NOBODY) > 1.4 && slicer_scale(s, w, NOBODY) < 5);
		CHECK(slicer_mean(s, w) == slicer_scale(s, w, NOBODY));
		CHECK(slicer_window(s, UINT64_MAX) == slicer_last(s));
		all += 1000 * slicer_scale(s, w, NOBODY);
	}
	all *= 1 + slicer_owed(s);
	CHECK(all > 0.95 * (double)(p.thread.cpu - p.thread.spent) / MS * 100 &&
	      all < 1.05 * (double)(p.thread.cpu - p.thread.spent) / MS * 100);
	slicer_tell(s, &r);
	CHECK(!r.all && r.slices == slicer_last(s));
	slicer_free(s);
}

/* What is unknown at first is probed for a while, to learn it. */
TEST(unknown)
{
	struct probes p = { .calls = 1000, .cost = 50 * MS, .work = 10 * MS };
	struct slicer *s = begin(&p, 0);

	CHECK(p.set && p.number == 1 && !slicer_holds(s, 1));
	turn(s);
	CHECK(!p.set && p.number == 1);
	turn(s);
	CHECK(p.set && p.number == 2 && slicer_holds(s, 2) && !slicer_holds(s, 1));
	CHECK(slicer_scale(s, 1, NOBODY) == 1);
	slicer_stop(s);
	CHECK(slicer_scale(s, 2, NOBODY) > 1);
	slicer_free(s);
}

TEST(none)
{
	struct slicer_result r = { .slices = 7 };

	CHECK_EQ(slicer_until(NULL, 5), 5);
	CHECK_EQ(slicer_last(NULL), 0);
	CHECK(!slicer_holds(NULL, 1) && slicer_scale(NULL, 1, 1) == 1 && slicer_owed(NULL) == 0);
	slicer_tell(NULL, &r);
	CHECK_EQ(r.slices, 7);
	slicer_free(NULL);
}

int main(void)
{
	RUN(cheap);
	RUN(dear);
	RUN(unknown);
	RUN(none);
	return TEST_END();
}
