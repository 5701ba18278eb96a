/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdlib.h>
#include <unistd.h>

#include "session/ended_threads.h"

#define TID (1 << 28)	/* from here on none is used: PID_MAX_LIMIT */

static uint32_t process(struct profile *p, pid_t pid)
{
	return profile_process(p, pid, 1, profile_string(p, "server"));
}

/* @n threads that ended; each has a sample. */
static void add_ended(struct profile *p, uint32_t process, const char *comm, int n)
{
	size_t first = profile_view(p).nthreads;

	for (int i = 0; i < n; i++)
		profile_add(p, profile_thread(p, process, TID + (pid_t)first + i,
					      profile_string(p, comm)), 0, 1);
}

TEST(those_of_one_name_are_the_first)
{
	struct profile *p = profile_new();
	uint32_t self = process(p, getpid()), *same;
	size_t nthreads, nrows;

	add_ended(p, self, "a", 40);
	profile_add(p, profile_thread(p, self, getpid(), profile_string(p, "a")), 0, 1);
	add_ended(p, self, "b", 40);
	same = ended_threads(p, &nthreads, &nrows);
	CHECK(same);
	CHECK_EQ(nthreads, 39 + 39);
	CHECK_EQ(nrows, 2 * (39 + 39));
	CHECK_EQ(same[0], 0);
	CHECK_EQ(same[39], 0);
	CHECK_EQ(same[40], 40);
	CHECK_EQ(same[41], 41);
	CHECK_EQ(same[80], 41);
	free(same);
	profile_free(p);
}

/* Nothing is known of a process that is not there, and few threads are not looked at. */
TEST(others_are_themselves)
{
	struct profile *p = profile_new();
	size_t nthreads, nrows;

	add_ended(p, process(p, TID), "a", 1000);
	add_ended(p, process(p, 0), "a", 1000);
	add_ended(p, process(p, getpid()), "a", 63);
	CHECK(!ended_threads(p, &nthreads, &nrows));
	CHECK_EQ(nthreads, 0);
	CHECK_EQ(nrows, 0);
	profile_free(p);
}

/* What has been made one already is nothing that could go. */
TEST(one_of_a_name_stays)
{
	struct profile *p = profile_new();
	uint32_t self = process(p, getpid()), *same;
	char comm[] = "aa";
	size_t nthreads, nrows;

	for (int i = 0; i < 100; i++) {
		comm[0] = (char)('a' + i / 10);
		comm[1] = (char)('a' + i % 10);
		add_ended(p, self, comm, 1);
	}
	same = ended_threads(p, &nthreads, &nrows);
	CHECK(same);
	CHECK_EQ(nthreads, 0);
	CHECK_EQ(nrows, 0);
	free(same);
	profile_free(p);
}

int main(void)
{
	RUN(those_of_one_name_are_the_first);
	RUN(others_are_themselves);
	RUN(one_of_a_name_stays);
	return TEST_END();
}
