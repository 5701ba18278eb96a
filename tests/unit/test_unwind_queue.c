/* SPDX-License-Identifier: MIT */
#include "unwind/table/queue.h"

#include "unit/test.h"

#define GIANT	(16u << 20)
#define MANY	2000

static void check_order(struct unwind_queue *q, const uint32_t *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		CHECK(q->jobs.n);
		if (q->jobs.n)
			CHECK_EQ(unwind_queue_take(q).id, ids[i]);
	}
	CHECK_EQ(q->jobs.n, 0);
	unwind_queue_free(q);
}

TEST(sizes)
{
	struct unwind_queue q = { 0 };

	unwind_queue_add(&q, 1, -1, 100);
	unwind_queue_add(&q, 2, -1, GIANT + 2);
	unwind_queue_add(&q, 3, -1, 5000);
	unwind_queue_add(&q, 4, -1, GIANT + 1);
	unwind_queue_add(&q, 5, -1, 100);
	unwind_queue_add(&q, 6, -1, GIANT);
	unwind_queue_add(&q, 7, -1, 100);
	check_order(&q, (const uint32_t[]){ 6, 3, 1, 5, 7, 4, 2 }, 7);
}

TEST(wanted)
{
	struct unwind_queue q = { 0 };

	for (uint32_t id = 1; id <= 5; id++)
		unwind_queue_add(&q, id, (int)id, 1000 - id);
	unwind_queue_want(&q, 4);
	unwind_queue_want(&q, 3);
	unwind_queue_want(&q, 3);
	unwind_queue_want(&q, 99);
	CHECK_EQ(q.jobs.v[0].fd, 3);
	check_order(&q, (const uint32_t[]){ 3, 4, 1, 2, 5 }, 5);
}

/*
 * As looking through all would have it; one that was taken is no longer known, and may come again.
 */
TEST(random_order)
{
	static struct { uint64_t key; int there; } all[MANY];
	struct unwind_queue q = { 0 };
	uint32_t n = 0;

	srand(3);
	for (int round = 0; round < 20000; round++) {
		uint32_t id = (uint32_t)rand() % MANY, best = 0;

		if (rand() % 3 && !all[id].there) {
			uint64_t size = (uint64_t)rand() % 50;

			unwind_queue_add(&q, id, -1, size);
			/* More wanted, then larger, then earlier. */
			all[id].key = size << 32 | (UINT32_MAX - (uint32_t)round);
			all[id].there = 1;
			n++;
		} else if (rand() % 2) {
			unwind_queue_want(&q, id);
			all[id].key += all[id].there ? 1ull << 48 : 0;
		} else if (n) {
			for (uint32_t i = 0; i < MANY; i++)
				if (all[i].there &&
				    (!all[best].there || all[i].key > all[best].key))
					best = i;
			CHECK_EQ(unwind_queue_take(&q).id, best);
			all[best].there = 0;
			n--;
		}
		CHECK_EQ(q.jobs.n, n);
	}
	unwind_queue_free(&q);
}

/*
 * A hostile target maps a hundred thousand files: in some seconds each would be looked at for each.
 */
TEST(a_hundred_thousand)
{
	struct unwind_queue q = { 0 };

	for (uint32_t id = 0; id < 100000; id++)
		unwind_queue_add(&q, id, -1, id % 977);
	for (uint32_t id = 0; id < 100000; id++)
		unwind_queue_want(&q, id);
	for (uint64_t last = UINT64_MAX; q.jobs.n; ) {
		uint64_t size = unwind_queue_take(&q).size;

		CHECK(size <= last);
		last = size;
	}
	unwind_queue_free(&q);
}

int main(void)
{
	RUN(sizes);
	RUN(wanted);
	RUN(random_order);
	RUN(a_hundred_thousand);
	return TEST_END();
}
