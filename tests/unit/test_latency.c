/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "profile/latency.h"

static uint64_t calls[LATENCY_BUCKETS];

TEST(buckets_ascend)
{
	for (unsigned int i = 1; i <= LATENCY_BUCKETS; i++)
		CHECK(latency_least(i) >= latency_least(i - 1));
	CHECK_EQ(latency_least(0), 0);
	CHECK_EQ(latency_least(10 * LATENCY_PARTS), 1024);
	CHECK_EQ(latency_least(10 * LATENCY_PARTS + 1), 1280);
	CHECK_EQ(latency_least(11 * LATENCY_PARTS), 2048);
}

TEST(shares)
{
	memset(calls, 0, sizeof(calls));
	CHECK_EQ(latency_within(calls, 0.5), 0);
	calls[10 * LATENCY_PARTS] = 99;
	calls[20 * LATENCY_PARTS] = 1;
	CHECK_EQ(latency_within(calls, 0.5), 1280);
	CHECK_EQ(latency_within(calls, 0.99), 1280);
	CHECK_EQ(latency_within(calls, 1), latency_least(20 * LATENCY_PARTS + 1));
}

TEST(lines)
{
	struct summary s = { 0 };
	int found = 0;

	latency_summary("f", calls, &s);
	CHECK(s.rows.n == 1 + 4 + 11);
	for (size_t i = 0; i < s.rows.n; i++)
		found |= s.rows.v[i].key && !strcmp(s.rows.v[i].key, "calls_from_2_to_the_10_ns") &&
			 s.rows.v[i].value == 99;
	CHECK(found);
	summary_free(&s);
}

int main(void)
{
	RUN(buckets_ascend);
	RUN(shares);
	RUN(lines);
	return TEST_END();
}
