/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "session/deadline.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define HOUR	3600000000000ull
#define MS	1000000ull
#define ENOUGH	1000	/* questions, of which some look */

static int ever_passed(struct deadline *d, uint64_t ns)
{
	int passed = 0;

	for (int i = 0; i < ENOUGH; i++)
		passed |= deadline_passed(d, ns);
	return passed;
}

/* Without a CPU. */
static void pass(uint64_t ns)
{
	const struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	nanosleep(&t, NULL);
}

static void work(uint64_t ns)
{
	uint64_t end = clock_thread_ns() + ns;

	while (clock_thread_ns() < end)
		;
}

TEST(moment_begins_when_the_end_is_seen)
{
	uint64_t running = clock_ns();		/* the machine, for some seconds at least */
	struct deadline d;

	deadline_set(&d, -1, running + HOUR);
	CHECK(!ever_passed(&d, 0));
	deadline_set(&d, -1, running / 2);
	CHECK(!ever_passed(&d, running / 4));
	work(20 * MS);
	CHECK(ever_passed(&d, 10 * MS));
	CHECK(!ever_passed(&d, running / 4));
}

TEST(time_without_a_cpu_counts_a_quarter)
{
	struct deadline d;

	deadline_set(&d, -1, clock_ns());
	CHECK(!ever_passed(&d, HOUR));
	pass(100 * MS);
	CHECK(ever_passed(&d, 24 * MS));
	CHECK(d.late < (clock_ns() - d.seen) / 2);
}

TEST(signal_is_an_end)
{
	struct deadline d;
	int ends[2];

	CHECK(!pipe(ends));
	deadline_set(&d, ends[0], clock_ns() + HOUR);
	CHECK(!ever_passed(&d, 0));
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK(!ever_passed(&d, HOUR));
	work(20 * MS);
	CHECK(ever_passed(&d, 10 * MS));
	close(ends[0]);
	close(ends[1]);
}

TEST(end_for_another_reason)
{
	struct deadline d;
	uint64_t now = clock_ns();

	deadline_set(&d, -1, UINT64_MAX);
	CHECK(!ever_passed(&d, 0));
	deadline_end(&d, now);
	deadline_end(&d, now + HOUR);
	CHECK_EQ(d.end, now);
	CHECK(!ever_passed(&d, HOUR));
	work(20 * MS);
	CHECK(ever_passed(&d, 10 * MS));
}

int main(void)
{
	RUN(moment_begins_when_the_end_is_seen);
	RUN(time_without_a_cpu_counts_a_quarter);
	RUN(signal_is_an_end);
	RUN(end_for_another_reason);
	return TEST_END();
}
