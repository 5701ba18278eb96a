/* SPDX-License-Identifier: MIT */
#include "session/patience.h"

#include "unit/test.h"

#define MS	1000000ull
#define SECOND	(1000 * MS)
#define BEGIN	(77 * SECOND)

/* How many stacks lead nowhere until it is to rest; 0: more than 1000. */
static int until_rest(struct patience *p, pid_t pid, uint64_t now)
{
	for (int n = 1; n <= 1000; n++)
		if (patience_failed(p, pid, now))
			return n;
	return 0;
}

TEST(rests_twice_as_long_each_time)
{
	struct patience p = { 0 };
	uint64_t now = BEGIN;

	for (uint64_t rest = SECOND; rest <= 64 * SECOND; rest *= 2) {
		CHECK_EQ(until_rest(&p, 7, now), 16);
		/* Those that were under way. */
		CHECK_EQ(until_rest(&p, 7, now), 0);
		now += rest;
		CHECK_EQ(patience_rested(&p, now - 1), 0);
		CHECK_EQ(patience_rested(&p, now), 7);
		CHECK_EQ(patience_rested(&p, now), 0);
	}
	patience_free(&p);
}

TEST(is_had_again_after_one_that_did_not_fail)
{
	struct patience p = { 0 };

	CHECK_EQ(until_rest(&p, 7, BEGIN), 16);
	/* It was under way, too, and says nothing of the rest. */
	patience_succeeded(&p, 7);
	CHECK_EQ(patience_rested(&p, BEGIN + SECOND), 7);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(patience_failed(&p, 7, BEGIN + SECOND), 0);
		if (i % 15 == 0)
			patience_succeeded(&p, 7);
	}
	patience_succeeded(&p, 7);
	CHECK_EQ(until_rest(&p, 7, BEGIN + 2 * SECOND), 16);
	CHECK_EQ(patience_rested(&p, BEGIN + 3 * SECOND), 7);
	patience_free(&p);
}

TEST(each_process_by_itself)
{
	struct patience p = { 0 };

	CHECK_EQ(until_rest(&p, 7, BEGIN), 16);
	CHECK_EQ(until_rest(&p, 8, BEGIN + 1), 16);
	CHECK_EQ(until_rest(&p, 9, BEGIN + 2), 16);
	patience_forget(&p, 8);
	CHECK_EQ(patience_rested(&p, BEGIN + SECOND + 1), 7);
	CHECK_EQ(patience_rested(&p, BEGIN + SECOND + 1), 0);
	CHECK_EQ(until_rest(&p, 8, BEGIN + SECOND + 1), 16);
	CHECK_EQ(patience_rested(&p, BEGIN + SECOND + 2), 9);
	CHECK_EQ(patience_rested(&p, BEGIN + 2 * SECOND), 0);
	patience_free(&p);
}

TEST(rests_do_not_overflow)
{
	struct patience p = { 0 };
	uint64_t now = BEGIN;

	for (int i = 0; i < 300; i++) {
		CHECK_EQ(until_rest(&p, 7, now), 16);
		now += 5000 * SECOND;
		CHECK_EQ(patience_rested(&p, now), 7);
	}
	patience_free(&p);
}

int main(void)
{
	RUN(rests_twice_as_long_each_time);
	RUN(is_had_again_after_one_that_did_not_fail);
	RUN(each_process_by_itself);
	RUN(rests_do_not_overflow);
	return TEST_END();
}
