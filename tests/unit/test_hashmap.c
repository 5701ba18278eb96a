/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/hashmap.h"

/* The same numbers in every run: xorshift64. */
static uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

TEST(an_empty_map_has_nothing)
{
	struct hashmap m = { 0 };

	CHECK_EQ(hashmap_get(&m, 0), HASHMAP_NONE);
	hashmap_del(&m, 0);
	hashmap_free(&m);
	CHECK_EQ(m.n, 0);
}

TEST(sets_replaces_deletes)
{
	struct hashmap m = { 0 };

	hashmap_set(&m, 5, 50);
	hashmap_set(&m, 0, 0);
	hashmap_set(&m, UINT64_MAX, 1);
	CHECK_EQ(hashmap_get(&m, 5), 50);
	CHECK_EQ(hashmap_get(&m, 0), 0);
	CHECK_EQ(hashmap_get(&m, UINT64_MAX), 1);
	hashmap_set(&m, 5, 51);
	CHECK_EQ(hashmap_get(&m, 5), 51);
	CHECK_EQ(m.n, 3);
	hashmap_del(&m, 6);
	CHECK_EQ(m.n, 3);
	hashmap_del(&m, 5);
	CHECK_EQ(hashmap_get(&m, 5), HASHMAP_NONE);
	CHECK_EQ(m.n, 2);
	hashmap_free(&m);
	CHECK_EQ(hashmap_get(&m, 0), HASHMAP_NONE);
	hashmap_set(&m, 1, 2);
	CHECK_EQ(hashmap_get(&m, 1), 2);
	hashmap_free(&m);
}

TEST(put_keeps_the_first)
{
	struct hashmap m = { 0 };

	CHECK_EQ(hashmap_put(&m, 9, 1), 1);
	CHECK_EQ(hashmap_put(&m, 9, 2), 1);
	CHECK_EQ(hashmap_get(&m, 9), 1);
	CHECK_EQ(m.n, 1);
	hashmap_free(&m);
}

/* Against an array, through long clusters, growth and deletion in the midst of them. */
TEST(agrees_with_an_array)
{
	enum { KEYS = 512, STEPS = 200000 };
	static uint32_t truth[KEYS];
	struct hashmap m = { 0 };
	uint64_t x = 88172645463325252u;
	size_t n = 0;

	for (int i = 0; i < KEYS; i++)
		truth[i] = HASHMAP_NONE;
	for (int i = 0; i < STEPS && test_ok; i++) {
		uint64_t r = next_random(&x);
		/*
		 * Filling and emptying by turns, so that both a full and a nearly empty map are
		 * met.
		 */
		int fill = i / 2000 % 2 ? 8 : 3;
		uint32_t k = r % KEYS, value = (uint32_t)(r >> 40);

		n -= truth[k] != HASHMAP_NONE;
		if ((int)(r >> 20 & 15) < fill) {
			hashmap_set(&m, k * 0x100000001u, value);
			truth[k] = value;
		} else {
			hashmap_del(&m, k * 0x100000001u);
			truth[k] = HASHMAP_NONE;
		}
		n += truth[k] != HASHMAP_NONE;
		CHECK_EQ(m.n, n);
		if (i % 97)
			continue;
		for (uint32_t j = 0; j < KEYS; j++)
			CHECK_EQ(hashmap_get(&m, j * 0x100000001u), truth[j]);
	}
	hashmap_free(&m);
}

TEST(holds_a_million)
{
	struct hashmap m = { 0 };

	for (uint64_t i = 0; i < 1000000; i++)
		hashmap_set(&m, i << 32 | i, (uint32_t)i);
	CHECK_EQ(m.n, 1000000);
	for (uint64_t i = 0; i < 1000000; i++)
		if (hashmap_get(&m, i << 32 | i) != i)
			CHECK_EQ(hashmap_get(&m, i << 32 | i), i);
	CHECK_EQ(hashmap_get(&m, 1), HASHMAP_NONE);
	hashmap_free(&m);
}

TEST(hashes_depend_on_every_byte_and_the_length)
{
	char a[64] = { 0 }, b[64] = { 0 };

	for (size_t n = 0; n < sizeof(a); n++) {
		CHECK(hash_bytes(a, n) == hash_bytes(b, n));
		CHECK(hash_bytes(a, n) != hash_bytes(a, n + 1));
		for (size_t i = 0; i < n; i++) {
			b[i] = 1;
			CHECK(hash_bytes(a, n) != hash_bytes(b, n));
			b[i] = 0;
		}
	}
	CHECK(hash_bytes(NULL, 0) == hash_bytes(a, 0));
	/* Where it lies must not matter. */
	memcpy(a, "xyzabcdefghijklmnopq", 20);
	memcpy(b, "abcdefghijklmnopq", 17);
	CHECK(hash_bytes(a + 3, 17) == hash_bytes(b, 17));
}

TEST(pairs_are_ordered)
{
	CHECK(hash_pair(1, 2) == hash_pair(1, 2));
	CHECK(hash_pair(1, 2) != hash_pair(2, 1));
	CHECK(hash_pair(0, 1) != hash_pair(1, 0));
	CHECK(hash_pair(0, 0) != hash_pair(0, 1));
}

int main(void)
{
	RUN(an_empty_map_has_nothing);
	RUN(sets_replaces_deletes);
	RUN(put_keeps_the_first);
	RUN(agrees_with_an_array);
	RUN(holds_a_million);
	RUN(hashes_depend_on_every_byte_and_the_length);
	RUN(pairs_are_ordered);
	return TEST_END();
}
