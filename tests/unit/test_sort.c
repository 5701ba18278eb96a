/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/sort.h"

static struct sort_key *copy(const struct sort_key *keys, size_t n)
{
	struct sort_key *out = malloc((n + 1) * sizeof(*out));

	if (out && n)
		memcpy(out, keys, n * sizeof(*out));
	return out;
}

TEST(orders_by_every_digit_and_keeps_the_order_of_equals)
{
	static const struct sort_key keys[] = {
		{ UINT64_MAX, 0 },     { 5, 1 }, { 0, 2 }, { 5ull << 60, 3 }, { 5, 4 }, { 4096, 5 },
		{ UINT64_MAX - 1, 6 }, { 5, 7 },
	};
	static const uint32_t expected[] = { 2, 1, 4, 7, 5, 3, 6, 0 };
	struct sort_key *k = sort_keys(copy(keys, 8), 8);

	for (int i = 0; i < 8; i++) {
		CHECK_EQ(k[i].place, expected[i]);
		CHECK_EQ(k[i].key, keys[expected[i]].key);
	}
	free(k);
}

TEST(many_in_no_order)
{
	const uint32_t n = 100000;
	struct sort_key *k = malloc(n * sizeof(*k));
	uint64_t x = 88172645463325252ull;
	char *seen = calloc(n, 1);

	for (uint32_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k[i] = (struct sort_key){ 0x7f0000000000 + (x & 0xffff), i };
	}
	k = sort_keys(k, n);
	for (uint32_t i = 0; i < n; i++) {
		seen[k[i].place]++;
		if (i && (k[i].key < k[i - 1].key ||
			  (k[i].key == k[i - 1].key && k[i].place < k[i - 1].place)))
			CHECK_EQ(i, 0);
	}
	for (uint32_t i = 0; i < n; i++)
		if (seen[i] != 1)
			CHECK_EQ(seen[i], 1);
	free(seen);
	free(k);
}

TEST(none_one_and_sorted_ones)
{
	static const struct sort_key keys[] = { { 3, 0 }, { 3, 1 }, { 1ull << 63, 2 } };

	for (size_t n = 0; n <= 3; n++) {
		struct sort_key *k = sort_keys(copy(keys, n), n);

		for (uint32_t i = 0; i < n; i++)
			CHECK_EQ(k[i].place, i);
		free(k);
	}
}

int main(void)
{
	RUN(orders_by_every_digit_and_keeps_the_order_of_equals);
	RUN(many_in_no_order);
	RUN(none_one_and_sorted_ones);
	return TEST_END();
}
