/* SPDX-License-Identifier: MIT */
#include "preload/block_table.h"

#include <pthread.h>

#include "unit/test.h"

static const void *address(uint64_t i)
{
	return (const void *)(uintptr_t)(0x7f0000000000 + 16 * i);
}

/* More than many levels hold, in any order. */
TEST(all_are_found_again)
{
	static struct block_table t;
	const uint64_t n = 300000;
	int missing = 0;

	for (uint64_t i = 0; i < n; i++)
		CHECK_EQ(block_table_put(&t, address(i), i + 1), 0);
	CHECK(t.levels[2] != NULL);
	for (uint64_t i = 0; i < n; i += 2)
		missing += block_table_take(&t, address(i)) != i + 1;
	for (uint64_t i = 0; i < n; i++)
		missing += block_table_take(&t, address(i)) != (i % 2 ? i + 1 : 0);
	CHECK_EQ(missing, 0);
	CHECK_EQ(block_table_take(&t, address(n)), 0);
}

TEST(an_empty_one)
{
	static struct block_table t;

	CHECK_EQ(block_table_take(&t, address(1)), 0);
	CHECK(!t.levels[0]);
}

/*
 * It says no only of what is not there; and what it counted too often to know, it knows for good.
 */
TEST(filter)
{
	static struct block_table t;
	const int alike = 300;

	CHECK(!block_table_may_have(&t, address(1)) && !block_table_may_have(&t, NULL));
	block_table_put(&t, address(1), 7);
	CHECK(block_table_may_have(&t, address(1)) && !block_table_may_have(&t, address(2)));
	CHECK_EQ(block_table_take(&t, address(1)), 7);
	CHECK(!block_table_may_have(&t, address(1)));
	block_table_watch(&t, address(2));
	CHECK(block_table_may_have(&t, address(2)));
	CHECK_EQ(block_table_take(&t, address(2)), 0);
	for (int i = 0; i < alike; i++)
		block_table_put(&t, address(3 + (uint64_t)i * BLOCK_FILTER), (uint64_t)i + 1);
	for (int i = 0; i < alike; i++)
		CHECK_EQ(block_table_take(&t, address(3 + (uint64_t)i * BLOCK_FILTER)), i + 1);
	CHECK(block_table_may_have(&t, address(3)));
	/* A free slot is no block at 0. */
	block_table_put(&t, address(65536 - (0x7f0000000000 >> 4) % 65536), 9);
	CHECK(block_table_may_have(&t, NULL));
	CHECK_EQ(block_table_take(&t, NULL), 0);
}

#define THREADS 4
#define BLOCKS 20000

static struct block_table shared;
static int wrong;

static void *put(void *arg)
{
	for (uint64_t i = 0; i < BLOCKS; i++)
		block_table_put(&shared, address(i * THREADS + (uintptr_t)arg), i + 1);
	return NULL;
}

static void *take(void *arg)
{
	for (uint64_t i = 0; i < BLOCKS; i++)
		if (block_table_take(&shared, address(i * THREADS + (uintptr_t)arg)) != i + 1)
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void in_threads(void *(*fn)(void *), uintptr_t shift)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, fn, (void *)((i + shift) % THREADS));
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Each takes what another one has put; twice, in slots that were used. */
TEST(by_many_threads)
{
	for (int i = 0; i < 2; i++) {
		in_threads(put, 0);
		in_threads(take, 1);
	}
	CHECK_EQ(wrong, 0);
}

int main(void)
{
	RUN(an_empty_one);
	RUN(filter);
	RUN(all_are_found_again);
	RUN(by_many_threads);
	return TEST_END();
}
