/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "output/threads.h"
#include "unit/stacks.h"

static void check_row(const struct profile *p, const struct thread_row *row, const char *comm,
		      const char *ids, int leads, uint64_t total)
{
	char pid[32], tid[32], got[80];

	snprintf(got, sizeof(got), "%s/%s", threads_id(pid, sizeof(pid), row->pid, row->pid_again),
		 threads_id(tid, sizeof(tid), row->tid, row->tid_again));
	CHECK_STR(got, ids);
	CHECK_STR(profile_text(p, profile_view(p).threads[row->thread].comm), comm);
	CHECK_EQ(row->leads, leads);
	CHECK_EQ(row->total, total);
}

TEST(order_and_ids)
{
	struct profile *p = profile_new();
	uint32_t sh = profile_string(p, "sh"), make = profile_string(p, "make"),
		 pool = profile_string(p, "pool");
	uint32_t before = profile_process(p, 7, 1, sh), after = profile_process(p, 7, 2, make);
	uint32_t other = profile_process(p, 9, 1, sh);
	struct threads *t;

	stacks_add(p, profile_thread(p, before, 7, sh), "main", 3);
	/* Renamed while it ran; and more in a thread than in the main thread. */
	stacks_add(p, profile_thread(p, after, 8, pool), "main|work", 50);
	stacks_add(p, profile_thread(p, after, 8, make), "main|work", 5);
	stacks_add(p, profile_thread(p, after, 7, make), "main", 10);
	/* Not told apart. */
	stacks_add(p, profile_thread(p, other, 0, pool), "main", 30);
	stacks_add(p, profile_thread(p, other, 0, sh), "main", 1);
	/* Nothing was seen of it. */
	profile_thread(p, other, 12, pool);
	t = threads_new(p);
	CHECK_EQ(t->n, 6);
	check_row(p, &t->v[0], "make", "7/7", 1, 10);
	check_row(p, &t->v[1], "pool", "7/8", 0, 50);
	check_row(p, &t->v[2], "make", "7/8.1", 0, 5);
	check_row(p, &t->v[3], "sh", "9/9", 1, 1);
	check_row(p, &t->v[4], "pool", "9/9.1", 0, 30);
	check_row(p, &t->v[5], "sh", "7.1/7.1", 1, 3);
	threads_free(t);
	profile_free(p);
}

TEST(samples_of_the_shown_type)
{
	struct profile *p = profile_new();
	uint32_t type = profile_add_type(p, "space", "bytes");
	uint32_t a = stacks_thread(p, 1, 1, "a"), b = stacks_thread(p, 2, 2, "b");
	struct threads *t;

	stacks_add(p, a, "f", 1);
	stacks_add(p, b, "f", 1);
	stacks_add(p, a, "g", 1);
	profile_count(p, 1, type, 100);
	profile_count(p, 2, type, 200);
	profile_show(p, type);
	t = threads_new(p);
	CHECK_EQ(t->n, 2);
	CHECK_EQ(t->v[0].total, 200);
	CHECK_EQ(t->v[0].nsamples, 1);
	CHECK_EQ(t->v[0].samples[0], 2);
	CHECK_EQ(t->v[1].total, 100);
	CHECK_EQ(t->v[1].samples[0], 1);
	threads_free(t);
	threads_free(NULL);
	profile_free(p);
}

int main(void)
{
	RUN(order_and_ids);
	RUN(samples_of_the_shown_type);
	return TEST_END();
}
