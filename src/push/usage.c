/* SPDX-License-Identifier: MIT */
#include "push/usage.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

#define STAT_MOST 1024		/* bytes of /proc/PID/stat */

/* By its clock, to the nanosecond; else @ticks of /proc, which are of 10 ms. */
static double cpu_time(pid_t pid, unsigned long long ticks)
{
	struct timespec t;
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock) && !clock_gettime(clock, &t))
		return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

/* proc(5), fields 14, 15 and 24 of /proc/PID/stat. */
int usage_of(pid_t pid, struct usage *out)
{
	char path[64], text[STAT_MOST];
	unsigned long long user, system, pages;
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (pid <= 0 || file_read(path, text, sizeof(text)) <= 0)
		return -1;
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu "
				  "%*d %*d %*d %*d %*d %*d %*u %*u %llu",
			    &user, &system, &pages) != 3)
		return -1;
	*out = (struct usage){ .cpu = cpu_time(pid, user + system),
			       .resident = pages * (uint64_t)sysconf(_SC_PAGESIZE) };
	return 0;
}
