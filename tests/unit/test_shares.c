/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "sources/shares.h"

#define SAMPLES 3000

static uint64_t got_n[SAMPLES], got_ns[SAMPLES];

static void give(void *ctx, uint32_t sample, uint64_t n, uint64_t ns)
{
	(*(int *)ctx)++;
	got_n[sample] += n;
	got_ns[sample] += ns;
}

static int divide(struct shares *s)
{
	int calls = 0;

	memset(got_n, 0, sizeof(got_n));
	memset(got_ns, 0, sizeof(got_ns));
	shares_divide(s, give, &calls);
	return calls;
}

TEST(divides_by_weight)
{
	struct shares *s = shares_new();

	shares_weigh(s, 7, 1, 10);
	shares_weigh(s, 7, 2, 20);
	shares_weigh(s, 7, 1, 20);
	shares_weigh(s, 8, 3, 1);
	shares_add(s, 7, 0, 5, 1000);
	shares_add(s, 7, 0, 5, 500);
	CHECK_EQ(divide(s), 2);
	CHECK_EQ(got_ns[1], 900);
	CHECK_EQ(got_ns[2], 600);
	CHECK_EQ(got_n[1] + got_n[2], 10);
	CHECK_EQ(got_ns[3], 0);
	/* What was given is not given again; weights last. */
	CHECK_EQ(divide(s), 0);
	shares_add(s, 7, 0, 0, 50);
	divide(s);
	CHECK_EQ(got_ns[1], 30);
	shares_free(s);
	shares_free(NULL);
}

TEST(the_heaviest)
{
	struct shares *s = shares_new();

	CHECK_EQ(shares_heaviest(s, 7), SHARES_GONE);
	shares_add(s, 7, 0, 5, 1000);
	CHECK_EQ(shares_heaviest(s, 7), SHARES_GONE);
	shares_weigh(s, 7, 1, 10);
	shares_weigh(s, 7, 2, 20);
	shares_weigh(s, 8, 3, 100);
	CHECK_EQ(shares_heaviest(s, 7), 2);
	shares_weigh(s, 7, 1, 11);
	CHECK_EQ(shares_heaviest(s, 7), 1);
	shares_free(s);
}

/* What came before is not what it was this time. */
TEST(each_time_shows_what_was_then)
{
	struct shares *s = shares_new();
	static const uint32_t now[] = { 0, 1, 2, 3 };

	shares_weigh(s, 7, 1, 1000);
	shares_add(s, 7, 0, 10, 100);
	divide(s);
	shares_weigh(s, 7, 2, 3);
	shares_weigh(s, 7, 3, 1);
	shares_renumber(s, now);
	shares_add(s, 7, 0, 4, 100);
	CHECK_EQ(divide(s), 2);
	CHECK_EQ(got_ns[1], 0);
	CHECK_EQ(got_ns[2], 75);
	CHECK_EQ(got_ns[3], 25);
	CHECK_EQ(got_n[2] + got_n[3], 4);
	/* Nothing came: what is known from before. */
	shares_add(s, 7, 0, 0, 1004);
	CHECK_EQ(divide(s), 3);
	CHECK_EQ(got_ns[1], 1000);
	/* A sample may come before its time does. */
	shares_weigh(s, 7, 2, 1);
	CHECK_EQ(divide(s), 0);
	shares_add(s, 7, 0, 0, 8);
	divide(s);
	CHECK_EQ(got_ns[2], 8);
	shares_free(s);
}

TEST(what_nobody_weighs_falls_back)
{
	struct shares *s = shares_new();

	shares_add(s, 1, 4, 2, 30);
	shares_weigh(s, 2, 5, 0);
	shares_add(s, 2, 6, 1, 9);
	CHECK_EQ(divide(s), 2);
	CHECK_EQ(got_n[4], 2);
	CHECK_EQ(got_ns[4], 30);
	CHECK_EQ(got_ns[6], 9);
	shares_free(s);
}

TEST(parts_add_up_to_the_total)
{
	struct shares *s = shares_new();
	uint64_t n = 0, ns = 0;

	for (uint32_t i = 0; i < SAMPLES; i++) {
		shares_weigh(s, 3, i, i * 7919ull % 1000);
		shares_add(s, i + 10, i, 0, 0);
	}
	shares_add(s, 3, 0, 1000003, UINT64_MAX - 5);
	divide(s);
	for (uint32_t i = 0; i < SAMPLES; i++) {
		n += got_n[i];
		ns += got_ns[i];
	}
	CHECK_EQ(n, 1000003);
	CHECK(ns == UINT64_MAX - 5);
	shares_free(s);
}

TEST(renumbers)
{
	struct shares *s = shares_new();
	/*
	 * 1 and 2 become one, 3 moves, 4 is gone with its group; that of 5 has lost one of its two.
	 */
	static const uint32_t now[] = { 0, 1, 1, 2, SHARES_GONE, 3, SHARES_GONE };

	shares_weigh(s, 7, 1, 10);
	shares_weigh(s, 7, 2, 20);
	shares_weigh(s, 7, 3, 70);
	shares_weigh(s, 8, 4, 1);
	shares_weigh(s, 9, 5, 1);
	shares_weigh(s, 9, 6, 1);
	shares_add(s, 7, 0, 1, 1);
	divide(s);
	shares_renumber(s, now);
	shares_add(s, 7, 9, 10, 1000);
	shares_add(s, 8, 9, 1, 5);
	shares_add(s, 9, 9, 2, 50);
	CHECK_EQ(divide(s), 4);
	CHECK_EQ(got_ns[1], 300);
	CHECK_EQ(got_ns[2], 700);
	CHECK_EQ(got_ns[9], 5);
	CHECK_EQ(got_ns[3], 50);
	CHECK_EQ(got_n[1] + got_n[2], 10);
	shares_free(s);
}

int main(void)
{
	RUN(divides_by_weight);
	RUN(the_heaviest);
	RUN(each_time_shows_what_was_then);
	RUN(what_nobody_weighs_falls_back);
	RUN(parts_add_up_to_the_total);
	RUN(renumbers);
	return TEST_END();
}
