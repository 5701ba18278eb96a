/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdint.h>

#include "base/search.h"

TEST(counts_what_is_not_above)
{
	static const uint32_t numbers[] = { 2, 4, 4, 4, 9 };

	CHECK_EQ(upper_bound(numbers, 0, , 5u), 0);
	CHECK_EQ(upper_bound(numbers, 5, , 1u), 0);
	CHECK_EQ(upper_bound(numbers, 5, , 2u), 1);
	CHECK_EQ(upper_bound(numbers, 5, , 3u), 1);
	CHECK_EQ(upper_bound(numbers, 5, , 4u), 4);
	CHECK_EQ(upper_bound(numbers, 5, , 8u), 4);
	CHECK_EQ(upper_bound(numbers, 5, , 9u), 5);
	CHECK_EQ(upper_bound(numbers, 5, , UINT64_MAX), 5);
}

TEST(orders_structures_by_a_member_and_takes_the_key_once)
{
	static const struct {
		int x;
		uint64_t start;
	} rows[] = { { 9, 10 }, { 7, 20 }, { 8, UINT64_MAX } };
	uint64_t key = 19;

	CHECK_EQ(upper_bound(rows, 3, .start, ++key), 2);
	CHECK_EQ(key, 20);
	CHECK_EQ(upper_bound(rows, 3, .start, UINT64_MAX), 3);
}

int main(void)
{
	RUN(counts_what_is_not_above);
	RUN(orders_structures_by_a_member_and_takes_the_key_once);
	return TEST_END();
}
