/* SPDX-License-Identifier: MIT */
#include "selftest/native.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "selftest/programs.h"

#define BLOCK 1000		/* bytes */
#define BLOCKS 100		/* of one() */

/* A function of its own, however it is called. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
/* A call before it is not the last thing that a function does, which would leave its frame out. */
#define NOT_LAST() __asm__ volatile("" ::: "memory")

APART void selftest_spin(unsigned int times)
{
	unsigned int s = 0;

	for (unsigned int i = 0; i < times; i++) {
		s = (s * 7 + i) % 1000003;
		__asm__ volatile("" : "+r"(s));
	}
}

APART void selftest_allocate(unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		void *block = malloc(BLOCK);

		__asm__ volatile("" : "+r"(block));
		free(block);
	}
}

APART void selftest_one(selftest_work *work, unsigned int times)
{
	work(times);
	NOT_LAST();
}

APART void selftest_two(selftest_work *work, unsigned int times)
{
	work(2 * times);
	NOT_LAST();
}

APART void selftest_rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = SELFTEST_REST * 1000000 }, NULL);
	NOT_LAST();
}

static void say(uint64_t a, uint64_t b)
{
	fprintf(stderr, SELFTEST_WORD " " EBPROF_VERSION " %llu %llu\n", (unsigned long long)a,
		(unsigned long long)b);
}

static void be_busy(void)
{
	const uint64_t began = clock_of(CLOCK_PROCESS_CPUTIME_ID);
	unsigned int n = 200000;

	while (clock_of(CLOCK_PROCESS_CPUTIME_ID) - began < SELFTEST_BUSY) {
		selftest_two(selftest_spin, n);
		selftest_one(selftest_spin, n);
		n = 100000 + (n * 7 + 1) % 200000;
	}
	say(clock_of(CLOCK_PROCESS_CPUTIME_ID) - began, 0);
}

static void sleep_often(void)
{
	const uint64_t began = clock_ns();

	for (int i = 0; i < SELFTEST_RESTS; i++)
		selftest_rest();
	say(0, clock_ns() - began);
}

static void allocate(void)
{
	selftest_two(selftest_allocate, BLOCKS);
	selftest_one(selftest_allocate, BLOCKS);
	say(3 * BLOCKS, 3 * BLOCKS * BLOCK);
}

struct native_program {
	const char *name;
	void (*run)(void);
};

static const struct native_program programs[] = {
	{ "native", be_busy },
	{ "native-waits", sleep_often },
	{ "native-memory", allocate },
};

APART void selftest_main(const struct native_program *p)
{
	p->run();
	NOT_LAST();
}

int native_run(const char *name)
{
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		if (strcmp(programs[i].name, name))
			continue;
		selftest_main(&programs[i]);
		return 0;
	}
	return -EINVAL;
}
