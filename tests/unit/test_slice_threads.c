/* SPDX-License-Identifier: MIT */
#include "slices/threads.h"

#include <math.h>
#include <stdlib.h>

#include "alloc/alloc_links.h"
#include "alloc/alloc_load.h"
#include "unit/test.h"

#define MS 1000000u
#define TRAP 5000.0	/* ns */

/* One look in which the threads are @v. */
static struct slices_seen look(struct slice_threads *t, const struct ebp_sliced_thread *v, size_t n,
			      double calls, int open)
{
	const struct slice_passed passed = {
		.wall = 100 * MS, .calls = calls, .call_ns = TRAP, .each_ns = TRAP,
		.cost = calls * TRAP, .open = open
	};

	for (size_t i = 0; i < n; i++)
		slice_threads_list(t, &v[i]);
	return slice_threads_look(t, &passed);
}

static int near(double x, double y)
{
	return fabs(x - y) <= 1e-6 * fabs(y);
}

/*
 * Of two threads that use a CPU each one allocates: in a slice half of its time are traps. The
 * other one changes nothing, neither how often a block counts nor what the probes cost.
 */
TEST(one_computes)
{
	struct ebp_sliced_thread v[] = { { .tid = 7, .start = 1 }, { .tid = 5, .start = 1 } };
	struct slice_threads *t = slice_threads_new();
	struct slice_scales s;
	struct slices_seen seen;

	look(t, v, 2, 0, 0);
	v[0].cpu = v[1].cpu = 100 * MS;
	look(t, v, 2, 0, 0);
	v[0].cpu = v[1].cpu = 200 * MS;
	v[0].calls = 10000;
	seen = look(t, v, 2, 10000, 1);
	CHECK(near(seen.cpu, 100 * MS) && near(seen.calls, 50 * MS));
	v[0].cpu = v[1].cpu = 300 * MS;
	look(t, v, 2, 0, 0);
	/* 10,000 calls in 50 ms of its own, and 200 ms more. */
	s = slice_threads_settle(t, 1);
	CHECK_EQ(s.n, 1);
	CHECK(near(slice_scales_of(&s, 7), 5));
	CHECK(near(slice_threads_traps(t), 0.5));
	CHECK(slice_threads_error(t) > 0.05);
	free(s.v);
	slice_threads_forget(t);
	CHECK(near(1 + slice_threads_owed(t), 1));
	slice_threads_free(t);
}

/* Each thread has its own: one is slowed much, and one hardly. */
TEST(each_its_own)
{
	struct ebp_sliced_thread v[] = { { .tid = 1, .start = 1 }, { .tid = 2, .start = 1 } };
	struct slice_threads *t = slice_threads_new();
	struct slice_scales s;

	look(t, v, 2, 0, 0);
	v[0] = (struct ebp_sliced_thread){ .tid = 1, .start = 1, .cpu = 100 * MS, .calls = 18000 };
	v[1] = (struct ebp_sliced_thread){
		.tid = 2, .start = 1, .cpu = 100 * MS, .calls = 200, .spent = MS
	};
	look(t, v, 2, 18200, 1);
	v[0].cpu = v[1].cpu = 200 * MS;
	look(t, v, 2, 0, 0);
	s = slice_threads_settle(t, 1);
	CHECK(near(slice_scales_of(&s, 1), 1 + 100.0 / 10));
	CHECK(near(slice_scales_of(&s, 2), 1 + 100.0 / 98));
	free(s.v);
	slice_threads_free(t);
}

/* Where traps took 98 % of the time in slices, what is left is hardly known. */
TEST(nearly_all_is_traps)
{
	struct ebp_sliced_thread v[] = { { .tid = 1, .start = 1 } };
	struct slice_threads *t = slice_threads_new();
	struct slice_scales s;

	look(t, v, 1, 0, 0);
	v[0].cpu = 100 * MS;
	v[0].calls = 19600;
	look(t, v, 1, 19600, 1);
	v[0].cpu = 200 * MS;
	look(t, v, 1, 0, 0);
	s = slice_threads_settle(t, 1);
	CHECK(slice_threads_error(t) > 1.5);
	free(s.v);
	slice_threads_free(t);
}

/* Of slices that are all alike many tell the rate; one does not, though nothing differs from it. */
TEST(few_slices)
{
	struct ebp_sliced_thread v[] = { { .tid = 1, .start = 1 } };
	struct slice_threads *t = slice_threads_new();
	struct slice_scales s;

	look(t, v, 1, 0, 0);
	for (int slices = 1; slices <= 8; slices++) {
		v[0].cpu += 20 * MS;
		v[0].calls += 40;
		look(t, v, 1, 40, 1);
		v[0].cpu += 80 * MS;
		look(t, v, 1, 0, 0);
		s = slice_threads_settle(t, slices == 8);
		free(s.v);
		if (slices < 3)
			CHECK(slice_threads_error(t) > 0.08);
	}
	CHECK(slice_threads_error(t) < 0.05);
	slice_threads_free(t);
}

/*
 * What a thread has left when it exits is owed; and what one did that was met in no slice is
 * guessed, which is an error.
 */
TEST(exited)
{
	struct ebp_sliced_thread v[] = { { .tid = 1, .start = 1 },
					{ .tid = 2, .start = 1 },
					{ .tid = 3, .start = 1 } };
	struct slice_threads *t = slice_threads_new();
	struct slice_scales s;
	double error;

	look(t, v, 3, 0, 0);
	v[1].cpu = 50 * MS;
	v[1].calls = 1000;
	look(t, v, 3, 1000, 1);
	v[1].cpu += 90 * MS;
	look(t, v, 3, 0, 0);
	s = slice_threads_settle(t, 0);
	CHECK(near(slice_scales_of(&s, 2), 2));
	free(s.v);
	look(t, v, 3, 0, 1);
	/* Thread 2 exits after 30 ms more; 1 is its leader. */
	v[0].exited = v[1].cpu + 30 * MS;
	v[1] = v[2];
	look(t, v, 2, 0, 0);
	s = slice_threads_settle(t, 1);
	free(s.v);
	error = slice_threads_error(t);
	CHECK(near(slice_threads_owed(t), (45.0 + 30) / 45 * 1000 / 2000));
	v[1].cpu = 45 * MS;
	look(t, v, 2, 0, 0);
	slice_threads_forget(t);
	CHECK(near(slice_threads_owed(t), (45.0 + 30 + 45) / 45 * 1000 / 2000));
	CHECK(slice_threads_error(t) > error + 0.1);
	slice_threads_free(t);
}

/*
 * Where the kernel tells what all did that have exited, nothing is lost of a process that is gone
 * as a whole: its calls since the slice are owed, by its rate.
 */
TEST(process_exited)
{
	struct ebp_sliced_thread v[] = { { .tid = 1, .start = 1 } };
	struct slice_passed passed = { .wall = 100 * MS, .call_ns = TRAP, .each_ns = TRAP,
				       .knows_exited = 1 };
	struct slice_threads *t = slice_threads_new();

	slice_threads_list(t, v);
	slice_threads_look(t, &passed);
	v[0].cpu = 50 * MS;
	v[0].calls = 2000;
	passed.open = 1;
	passed.calls = 2000;
	passed.cost = 2000 * TRAP;
	slice_threads_list(t, v);
	slice_threads_look(t, &passed);
	/* 50 ms with 10 of traps; and 80 ms more, without. */
	passed = (struct slice_passed){ .wall = 100 * MS, .knows_exited = 1,
					.exited = 130 * MS };
	slice_threads_look(t, &passed);
	slice_threads_settle_whole(t);
	slice_threads_forget(t);
	CHECK(near(slice_threads_owed(t), 2));
	CHECK(slice_threads_error(t) > 0);
	slice_threads_free(t);
}

/* An id that is used again is another thread; and where a look failed nothing is made up. */
TEST(begin_anew)
{
	struct ebp_sliced_thread v[] = {
		{ .tid = 1, .start = 1, .cpu = 500 * MS, .calls = 1000000 }
	};
	struct slice_threads *t = slice_threads_new();
	struct slices_seen seen;

	look(t, v, 1, 0, 0);
	v[0] = (struct ebp_sliced_thread){ .tid = 1, .start = 2, .cpu = 10 * MS, .calls = 100 };
	seen = look(t, v, 1, 100, 1);
	CHECK(near(seen.cpu, 10 * MS));
	slice_threads_list(t, v);
	slice_threads_miss(t);
	v[0].cpu = 900 * MS;
	seen = look(t, v, 1, 0, 0);
	CHECK(!(seen.cpu > 0));
	v[0].cpu = 901 * MS;
	seen = look(t, v, 1, 0, 0);
	CHECK(near(seen.cpu, MS));
	slice_threads_free(t);
}

/* What is foretold is of the thread that allocates: 1 us of its own for each call. */
TEST(load)
{
	const struct alloc_price price = { .trap = { 500, 3000 }, .at_return = 500 };
	const struct alloc_watched threads[] = {
		{ .cpu = 50 * MS },
		{ .calls = { [0] = 1 }, .cpu = 50 * MS },
		{ .calls = { [0] = 10000, [SLOT_END] = 10000 }, .cpu = 30 * MS },
		{ .calls = { [0] = 100 } },	/* its CPU time is not known */
	};
	struct alloc_load l = alloc_load_of(&price, threads, 4);

	CHECK(fabs(l.calls - 5e5) < 5e3 && fabs(l.ends - 5e5) < 5e3);
	CHECK(near(l.call_ns, 1000) && near(l.end_ns, 500));
	CHECK(!l.rough);
	l = alloc_load_of(&price, threads, 2);
	CHECK(!l.rough && l.calls > 0);
	l = alloc_load_of(&price, threads, 1);
	CHECK(!(l.calls > 0) && !l.rough);
	l = alloc_load_of(&price, NULL, 0);
	CHECK(!(l.calls > 0));
}

/*
 * One that does nothing else: what traps may have taken at least is all that is known, and that is
 * said.
 */
TEST(saturated)
{
	const struct alloc_price price = { .trap = { 500, 3000 }, .at_return = 500 };
	const struct alloc_watched thread = { .calls = { [0] = 100000 }, .cpu = 51 * MS };
	struct alloc_load l = alloc_load_of(&price, &thread, 1);

	CHECK(l.rough);
	/* Truly some 100 million; by what is left, 1 ms. */
	CHECK(l.calls > 5e6 && l.calls < 2e7);
}

/* Measured at a bad moment, a trap costs more than a thread had: then it is what the thread had. */
TEST(price_too_high)
{
	const struct alloc_price price = { .trap = { 1500, 3000 }, .at_return = 0 };
	const struct alloc_watched thread = { .calls = { [0] = 100000 }, .cpu = 60 * MS };
	struct alloc_load l = alloc_load_of(&price, &thread, 1);

	CHECK(l.rough);
	CHECK(near(l.call_ns, 600));
	/* By what is left if that was 15 % less: 9 ms. */
	CHECK(l.calls > 1e7 && l.calls < 1.2e7);
	CHECK(alloc_load_cost(&l, ALLOC_CALLS) < 12);
}

int main(void)
{
	RUN(one_computes);
	RUN(each_its_own);
	RUN(nearly_all_is_traps);
	RUN(few_slices);
	RUN(exited);
	RUN(process_exited);
	RUN(begin_anew);
	RUN(load);
	RUN(saturated);
	RUN(price_too_high);
	return TEST_END();
}
