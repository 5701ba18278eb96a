/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "push/pace.h"

#define SECOND 1000000000ull

/* A second in which we took @share % of two CPUs. */
static uint64_t after(struct pace *p, double share)
{
	pace_turn(p, p->at + SECOND, p->taken + share / 100 * 2, 2);
	return p->now;
}

TEST(lowers_what_is_too_much)
{
	struct pace p = { .most = 1, .asked = 99, .now = 99, .at = SECOND };

	CHECK_EQ(after(&p, 1.0), 99);
	CHECK(after(&p, 1.5) >= 65 && p.now <= 66);
	/* A burst halves it at most. */
	CHECK(after(&p, 50) >= 32 && p.now <= 33);
	for (int i = 0; i < 10; i++)
		after(&p, 50);
	CHECK_EQ(p.now, 1);
}

TEST(raises_it_again)
{
	struct pace p = { .most = 1, .asked = 19, .now = 1, .at = SECOND };
	uint64_t was = p.now;

	/* Not where it would be too much at once. */
	CHECK_EQ(after(&p, 0.9), 1);
	for (int i = 0; i < 40; i++) {
		CHECK(after(&p, 0.1) >= was && p.now <= 19);
		was = p.now;
	}
	CHECK_EQ(p.now, 19);
}

TEST(waits_for_a_second)
{
	struct pace p = { .most = 1, .asked = 19, .now = 19, .at = SECOND };

	CHECK(!pace_turn(&p, SECOND + SECOND / 2, 1, 2));
	CHECK_EQ(p.now, 19);
	CHECK(pace_turn(&p, 2 * SECOND, 1, 2));
	CHECK_EQ(p.now, 9);
	CHECK(!pace_turn(&p, 4 * SECOND, 2, 0));
}

int main(void)
{
	RUN(lowers_what_is_too_much);
	RUN(raises_it_again);
	RUN(waits_for_a_second);
	return TEST_END();
}
