/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/perf_events.h"
#include "collect/probe.h"
#include "collect/tracefs.h"

/* Opens an event that is born disabled and counts nothing. The fd or a negative errno. */
static int open_event(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	return perf_event_open(attr, pid, cpu);
}

/* A sampling clock on the CPU we run on, for all processes: what a recording opens on each. */
static int open_clock(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
	};
	int cpu = sched_getcpu();

	return open_event(&attr, -1, cpu < 0 ? 0 : cpu);
}

void probe_paranoid(struct feature_result *r)
{
	long level;
	int fd;

	if (file_read_long("/proc/sys/kernel/perf_event_paranoid", &level)) {
		probe_say(r, FEATURE_SKIPPED, "no such sysctl");
		return;
	}
	if (!probe_has_or_admin(CAP_PERFMON)) {
		probe_say(r, FEATURE_SKIPPED, "%ld; sampling needs CAP_PERFMON whatever it says",
			  level);
		return;
	}
	/* Mainline stops at 2; above, Ubuntu's kernels refuse even CAP_PERFMON (base/caps.c). */
	fd = level > 2 ? open_clock() : 0;
	if (fd == -EACCES)
		probe_say(r, FEATURE_MISSING, "%ld: this kernel then asks for CAP_SYS_ADMIN",
			  level);
	else
		probe_say(r, FEATURE_OK, "%ld; does not matter with CAP_PERFMON", level);
	if (fd > 0)
		close(fd);
}

void probe_cpu_clock(struct feature_result *r)
{
	int fd;

	if (!probe_has_or_admin(CAP_PERFMON)) {
		probe_say(r, FEATURE_SKIPPED, "the test needs CAP_PERFMON");
		return;
	}
	fd = open_clock();
	if (fd < 0) {
		probe_say(r, FEATURE_MISSING, "cannot open it: %s", strerror(-fd));
		return;
	}
	close(fd);
	probe_say(r, FEATURE_OK, "opens");
}

void probe_hardware(struct feature_result *r)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = !probe_has_or_admin(CAP_PERFMON),
		.exclude_hv = 1,
	};
	int cpu = sched_getcpu(), fd;

	/*
	 * Of all processes on one CPU: an event on a task could be the machine's first, which costs
	 * 10 ms.
	 */
	fd = attr.exclude_kernel ? open_event(&attr, 0, -1)
				 : open_event(&attr, -1, cpu < 0 ? 0 : cpu);
	if (fd >= 0) {
		close(fd);
		probe_say(r, FEATURE_OK, "cycles opens");
	} else if (fd == -ENOENT || fd == -EOPNOTSUPP || fd == -ENODEV) {
		probe_say(r, FEATURE_DEGRADED, "this CPU, or its hypervisor, has no cycles event");
	} else if (fd == -EACCES || fd == -EPERM) {
		probe_say(r, FEATURE_SKIPPED, "not permitted to try");
	} else {
		probe_say(r, FEATURE_DEGRADED, "cannot open cycles: %s", strerror(-fd));
	}
}

void probe_sample_rate(struct feature_result *r)
{
	long rate;

	if (file_read_long("/proc/sys/kernel/perf_event_max_sample_rate", &rate))
		probe_say(r, FEATURE_SKIPPED, "no such sysctl");
	else
		probe_say(r, rate < 10000 ? FEATURE_DEGRADED : FEATURE_OK, "at most %ld Hz", rate);
}

void probe_max_stack(struct feature_result *r)
{
	long frames;

	if (file_read_long("/proc/sys/kernel/perf_event_max_stack", &frames))
		probe_say(r, FEATURE_SKIPPED, "no such sysctl");
	else
		probe_say(r, frames < PERF_MAX_STACK_DEPTH ? FEATURE_DEGRADED : FEATURE_OK,
			  "%ld frames", frames);
}

void probe_procmap_query(struct feature_result *r)
{
	/*
	 * struct procmap_query of linux/fs.h (6.11) is 104 bytes; the number of an ioctl contains
	 * the size.
	 */
	uint64_t query[13] = {0};
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), known;

	if (fd < 0) {
		probe_say(r, FEATURE_SKIPPED, "/proc/self/maps: %s", strerror(errno));
		return;
	}
	/*
	 * A query that says its size is 0 is invalid to whoever knows the call, and ENOTTY to who
	 * does not.
	 */
	known = ioctl(fd, _IOWR('f', 17, uint64_t[13]), query) == 0 || errno != ENOTTY;
	close(fd);
	probe_say(r, known ? FEATURE_OK : FEATURE_SKIPPED,
		  known ? "works" : "not in this kernel; /proc/PID/maps serves in this version");
}

/* 1 where a file system of @type is mounted in our mount namespace. */
static int is_mounted(const char *type)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t cap = 0, n = strlen(type);
	char *line = NULL;
	int found = 0;

	/* The type follows " - " (proc(5)); a blank inside of a path is written as \040. */
	while (f && !found && getline(&line, &cap, f) > 0) {
		const char *p = strstr(line, " - ");

		found = p && !strncmp(p + 3, type, n) && p[3 + n] == ' ';
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

void probe_tracefs(struct feature_result *r)
{
	struct tracefs t;
	const char *events;

	tracefs_open(&t);
	events = tracefs_events(&t);
	if (t.fd >= 0) {
		probe_say(r, FEATURE_OK, "not mounted; ebprof mounts it for itself");
	} else if (events && !faccessat(AT_FDCWD, events, R_OK | X_OK, AT_EACCESS)) {
		probe_say(r, FEATURE_OK, "%s", events);
	} else if (events || is_mounted("tracefs")) {
		probe_say(r, FEATURE_DEGRADED, "mounted, but this user may not read it");
		probe_fix(r, "run it with sudo, or with CAP_DAC_READ_SEARCH");
	} else {
		probe_say(r, FEATURE_DEGRADED, "not mounted");
	}
	tracefs_close(&t);
}

void probe_cgroups(struct feature_result *r)
{
	int v1 = is_mounted("cgroup"), v2 = is_mounted("cgroup2");

	if (v1 || v2)
		probe_say(r, FEATURE_OK, "%s%s%s", v2 ? "v2" : "", v1 && v2 ? " and " : "",
			  v1 ? "v1" : "");
	else
		probe_say(r, FEATURE_DEGRADED, "no cgroup hierarchy is mounted");
}

void probe_cpus(struct feature_result *r)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	char possible[64];
	ssize_t n = file_read("/sys/devices/system/cpu/possible", possible, sizeof(possible));

	possible[n > 0 ? strcspn(possible, "\n") : 0] = '\0';
	probe_say(r, FEATURE_OK, "%ld online, possible: %s", online, n > 0 ? possible : "unknown");
}
