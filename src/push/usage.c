/* SPDX-License-Identifier: MIT */
#include "push/usage.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define STAT_MOST 1024		/* bytes of /proc/PID/stat */

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
	*out = (struct usage){ .cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK),
			       .resident = pages * (uint64_t)sysconf(_SC_PAGESIZE) };
	return 0;
}
