/* SPDX-License-Identifier: MIT */
#include "proc/idle_cpu.h"

#include "base/clock.h"
#include "elf_image.h"
#include "test.h"

#define MS	1000000ull
#define IDLE	980	/* ms that the CPUs have been idle */

static int file_of(const char *text)
{
	return memory_file(text, strlen(text));
}

/*
 * What is seen on two CPUs while @running threads run or wait, after a look @ago ms before: since
 * then they were idle for @idle ms, and the caller ran for @own.
 */
static int left(const char *running, uint64_t ago, uint64_t idle, uint64_t own, int was_left)
{
	char load[64];
	struct idle_cpu c = {
		.online = 2,
		.was_left = was_left,
		.uptime = file_of("1000.00 0.98\n"),
		.since = clock_ns() - ago * MS,
		.idle = (IDLE - idle) * MS,
		.own = clock_thread_ns() - own * MS,
	};
	int is;

	snprintf(load, sizeof(load), "0.14 2.03 3.00 %s/321 9182\n", running);
	c.load = file_of(load);
	is = idle_cpu_left(&c);
	idle_cpu_close(&c);
	return is;
}

TEST(half_of_a_cpu_was_idle)
{
	CHECK(left("1", 100, 60, 0, 0));
	CHECK(!left("1", 100, 40, 0, 1));
	CHECK(left("1", 1000, 980, 0, 0));
}

TEST(what_the_caller_took_was_left)
{
	CHECK(left("1", 100, 0, 60, 0));
	CHECK(left("1", 100, 40, 20, 0));
}

TEST(others_wait_for_a_cpu)
{
	CHECK(left("2", 100, 100, 0, 0));
	CHECK(!left("3", 100, 100, 0, 0));
	CHECK(!left("64", 100, 100, 0, 0));
}

/* What the look before saw counts for 50 ms. */
TEST(again_soon)
{
	CHECK(left("1", 0, 0, 0, 1));
	CHECK(!left("3", 0, 0, 0, 1));
	CHECK(!left("1", 0, 0, 0, 0));
}

TEST(the_first_look)
{
	struct idle_cpu c;

	idle_cpu_open(&c, "/proc");
	CHECK(c.load >= 0 && c.uptime >= 0 && c.online >= 1);
	CHECK(!idle_cpu_left(&c));
	CHECK(c.since && c.idle);
	idle_cpu_close(&c);
}

TEST(nothing_tells)
{
	struct idle_cpu none = { .load = -1, .uptime = -1, .online = 2 };
	struct idle_cpu odd = { .load = file_of("none\n"), .uptime = file_of(""), .online = 2 };

	CHECK(idle_cpu_left(&none));
	CHECK(idle_cpu_left(&odd));
	idle_cpu_close(&odd);
}

int main(void)
{
	RUN(half_of_a_cpu_was_idle);
	RUN(what_the_caller_took_was_left);
	RUN(others_wait_for_a_cpu);
	RUN(again_soon);
	RUN(the_first_look);
	RUN(nothing_tells);
	return TEST_END();
}
