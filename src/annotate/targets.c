/* SPDX-License-Identifier: MIT */
#include "annotate/targets.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/procfs.h"

#define NS_PER_S 1000000000u
#define SLACK NS_PER_S		/* between what two clocks say */

/* When this machine was booted, ns of CLOCK_REALTIME. */
static uint64_t booted(void)
{
	return clock_wall_ns() - clock_of(CLOCK_BOOTTIME);
}

static int recorded_here(const struct profile *p)
{
	const char *host = profile_text(p, profile_view(p).meta->host);
	struct utsname u;
	size_t n;

	if (uname(&u))
		return 0;
	n = strlen(u.nodename);
	return !strncmp(host, u.nodename, n) && host[n] == ',';
}

int annotate_since_boot(const struct profile *p)
{
	return recorded_here(p) && profile_view(p).meta->start + SLACK > booted();
}

static int ran_then(pid_t pid, const struct profile_meta *m)
{
	struct procfs_stat stat;
	uint64_t tick = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);

	return pid > 0 && !procfs_stat(pid, &stat) && stat.state != 'Z' &&
	       booted() + stat.start * tick < m->start + m->duration + SLACK;
}

/* Puts @process in its place among those with the most. */
static void consider(uint32_t best[TARGETS_MAX], size_t *n, const uint64_t *values,
		     uint32_t process)
{
	size_t at = *n < TARGETS_MAX ? (*n)++ : TARGETS_MAX;

	for (; at && values[best[at - 1]] < values[process]; at--)
		if (at < TARGETS_MAX)
			best[at] = best[at - 1];
	if (at < TARGETS_MAX)
		best[at] = process;
}

struct annotate_targets annotate_targets_of(const struct profile *p, const uint64_t *values,
					    int live)
{
	struct profile_view v = profile_view(p);
	struct annotate_targets t = { 0 };
	uint32_t best[TARGETS_MAX];
	size_t n = 0;

	if (!live && !annotate_since_boot(p))
		return t;
	for (uint32_t i = 0; i < v.nprocesses; i++)
		if (values[i])
			consider(best, &n, values, i);
	for (size_t i = 0; i < n; i++) {
		pid_t pid = v.processes[best[i]].pid;

		if (live ? pid > 0 : ran_then(pid, v.meta))
			t.v[t.n++] = pid;
	}
	return t;
}
