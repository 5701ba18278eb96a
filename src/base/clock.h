/* SPDX-License-Identifier: MIT */
/* The one clock of all times is CLOCK_MONOTONIC; all times are nanoseconds. */
#ifndef EBPROF_CLOCK_H
#define EBPROF_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_from(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* And back. */
static inline struct timespec clock_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

static inline uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return clock_from(t);
}

static inline uint64_t clock_ns(void)
{
	return clock_of(CLOCK_MONOTONIC);
}

/* The date, for people: CLOCK_REALTIME, ns since 1970. */
static inline uint64_t clock_wall_ns(void)
{
	return clock_of(CLOCK_REALTIME);
}

/* CPU time of the calling thread. */
static inline uint64_t clock_thread_ns(void)
{
	return clock_of(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * How far @clock is ahead of clock_ns(), in ns. The clocks are read one after the other, so a
 * thread that loses its CPU in between sees too much; the least of some readings is the closest.
 */
static inline uint64_t clock_ahead_ns(clockid_t clock)
{
	uint64_t least = UINT64_MAX;

	for (int tries = 0; tries < 8; tries++) {
		uint64_t before = clock_ns(), ahead = clock_of(clock) - before;

		if (ahead < least)
			least = ahead;
		if (clock_ns() - before < 100000)
			break;
	}
	return least;
}

/* What the machine slept. */
static inline uint64_t clock_slept_ns(void)
{
	return clock_ahead_ns(CLOCK_BOOTTIME);
}

#endif
