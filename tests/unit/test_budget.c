/* SPDX-License-Identifier: MIT */
#include "session/budget.h"

#include "unit/test.h"

#define MS	1000000ull
#define SECOND	(1000 * MS)
#define BEGIN	(77 * SECOND)

/*
 * How much time @pid takes in @ns, where it takes @each whenever it may, and may ask at once again.
 */
static uint64_t taken(struct budget *b, pid_t pid, uint64_t ns, uint64_t each)
{
	uint64_t sum = 0;

	for (uint64_t now = BEGIN; now < BEGIN + ns; ) {
		if (!budget_has(b, pid, now)) {
			now += MS;
			continue;
		}
		budget_took(b, pid, now, now + each);
		now += each;
		sum += each;
	}
	return sum;
}

TEST(a_fifth)
{
	static const uint64_t each[] = { 1 * MS, 10 * MS, 300 * MS };

	for (size_t i = 0; i < sizeof(each) / sizeof(*each); i++) {
		struct budget b = { 0 };
		uint64_t sum = taken(&b, 7, 100 * SECOND, each[i]);

		CHECK(sum > 10 * SECOND && sum < 21 * SECOND);
		budget_free(&b);
	}
}

TEST(little_is_free)
{
	struct budget b = { 0 };

	CHECK(taken(&b, 7, 10 * SECOND, MS - 1) >= 10 * SECOND);
	budget_free(&b);
}

/* A large file that is read once, and whatever others take, costs nobody a stack. */
TEST(one_large_cost_and_others)
{
	struct budget b = { 0 };

	budget_took(&b, 7, BEGIN, BEGIN + 200 * MS);
	CHECK(budget_has(&b, 7, BEGIN + 200 * MS));
	budget_took(&b, 7, BEGIN + 200 * MS, BEGIN + 400 * MS);
	CHECK(!budget_has(&b, 7, BEGIN + 400 * MS));
	CHECK(budget_has(&b, 8, BEGIN + 400 * MS));
	CHECK(budget_has(&b, 7, BEGIN + 3 * SECOND));
	budget_forget(&b, 7);
	CHECK(budget_has(&b, 7, BEGIN + 400 * MS));
	budget_free(&b);
}

/* What was long ago, in a recording that goes on for years, is forgotten; what is now counts. */
TEST(years)
{
	struct budget b = { 0 };

	for (uint64_t i = 0; i < 9; i++) {
		uint64_t now = BEGIN + i * 30 * 86400 * SECOND;

		CHECK(budget_has(&b, 7, now));
		budget_took(&b, 7, now, now + SECOND);
		CHECK(!budget_has(&b, 7, now + SECOND));
		CHECK(budget_has(&b, 7, now + 5 * SECOND));
	}
	budget_free(&b);
}

int main(void)
{
	RUN(a_fifth);
	RUN(little_is_free);
	RUN(one_large_cost_and_others);
	RUN(years);
	return TEST_END();
}
