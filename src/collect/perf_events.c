/* SPDX-License-Identifier: MIT */
#include "collect/perf_events.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/vec.h"
#include "collect/pmu.h"
#include "collect/uprobe.h"

/* struct perf_event_attr of Linux 6.3 (PERF_ATTR_SIZE_VER8): bytes before config3 */
#define CONFIG3_AT 128
#define ATTR_BYTES_MAX 256

struct per_cpu {
	int cpu, fd;
	int also;	/* the second event, or the link of the first; -1: there is none */
};

typedef VEC(struct per_cpu) per_cpu_vec;

struct perf_events {
	struct perf_event_attr attr;
	uint64_t config3;
	uint64_t also;
	int *only;
	size_t nonly;
	int prog_fd;
	int linked;		/* the program is on the event by a link, with this */
	uint64_t cookie;
	int map;		/* has the events from @first on; -1: none has */
	uint32_t first;
	per_cpu_vec cpus;
	/* those that are succeeded by @cpus, and their program */
	per_cpu_vec before;
	int prog_before;
};

int perf_event_open_in(struct perf_event_attr *attr, pid_t pid, int cpu, int lead)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, lead, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int perf_event_open_wide(struct perf_event_attr *attr, uint64_t config3, pid_t pid, int cpu,
			 int lead)
{
	union {
		struct perf_event_attr attr;
		uint64_t words[ATTR_BYTES_MAX / sizeof(uint64_t)];
	} wide = { .words = { 0 } };
	int fd;

	if (!config3)
		return perf_event_open_in(attr, pid, cpu, lead);
	wide.attr = *attr;
	wide.words[CONFIG3_AT / sizeof(uint64_t)] = config3;
	if (wide.attr.size < CONFIG3_AT + sizeof(config3))
		wide.attr.size = CONFIG3_AT + sizeof(config3);
	fd = perf_event_open_in(&wide.attr, pid, cpu, lead);
	return fd == -E2BIG ? -EOPNOTSUPP : fd;
}

int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return perf_event_open_in(attr, pid, cpu, -1);
}

int perf_event_absent(const struct event *ev)
{
	struct perf_event_attr attr = event_attr(ev, 0, *ev->pmu ? 0 : 1000000, 1);
	int *cpus, fd;
	size_t n;

	if (event_is_software(ev))
		return 0;
	attr.disabled = 1;
	/* A PMU that counts user and kernel together refuses to leave one of them out. */
	attr.exclude_kernel |= !*ev->pmu;
	if (*ev->pmu)
		attr.sample_period = 0;
	pmu_cpus(ev, PMU_DEVICES, &cpus, &n);
	fd = perf_event_open_wide(&attr, ev->config3, ev->uncore && n ? -1 : 0,
				  ev->uncore && n ? cpus[0] : -1, -1);
	free(cpus);
	if (fd >= 0)
		close(fd);
	return fd == -ENOENT || fd == -EOPNOTSUPP || fd == -EINVAL || fd == -ENODEV;
}

/* @list ascending. */
static int contains(const int *list, size_t n, int x)
{
	return bsearch(&x, list, n, sizeof(*list), list_compare) != NULL;
}

int perf_online_cpus(const int *only, size_t nonly, int **cpus, size_t *n)
{
	char text[16384];
	ssize_t got = file_read("/sys/devices/system/cpu/online", text, sizeof(text));
	size_t kept = 0;
	int err;

	if (got < 0)
		return (int)got;
	err = list_parse(text, cpus, n);
	if (err || !only)
		return err;
	for (size_t i = 0; i < *n; i++)
		if (contains(only, nonly, (*cpus)[i]))
			(*cpus)[kept++] = (*cpus)[i];
	*n = kept;
	return 0;
}

struct perf_events *perf_events_new(const struct perf_event_attr *attr, uint64_t also,
				    const int *cpus, size_t ncpus, int prog_fd)
{
	struct perf_events *p = xcalloc(1, sizeof(*p));

	p->attr = *attr;
	p->attr.disabled = 1;
	p->also = also;
	p->prog_fd = prog_fd;
	p->map = -1;
	if (cpus) {
		p->only = xcalloc(ncpus, sizeof(*cpus));
		memcpy(p->only, cpus, ncpus * sizeof(*cpus));
		p->nonly = ncpus;
	}
	return p;
}

void perf_events_set_pmu(struct perf_events *p, const struct event *ev)
{
	size_t n, kept = 0;
	int *cpus;

	p->config3 = ev->config3;
	pmu_cpus(ev, PMU_DEVICES, &cpus, &n);
	if (!cpus)
		return;
	if (!p->only) {
		p->only = cpus;
		p->nonly = n;
		return;
	}
	for (size_t i = 0; i < p->nonly; i++)
		if (contains(cpus, n, p->only[i]))
			p->only[kept++] = p->only[i];
	p->nonly = kept;
	free(cpus);
}

void perf_events_set_cookie(struct perf_events *p, uint64_t cookie)
{
	p->linked = 1;
	p->cookie = cookie;
}

void perf_events_set_map(struct perf_events *p, int map, uint32_t first)
{
	p->map = map;
	p->first = first;
}

int perf_events_try(struct perf_events *p)
{
	int *online, fd = -ENODEV, err;
	size_t n;

	err = perf_online_cpus(p->only, p->nonly, &online, &n);
	if (err)
		return err;
	for (size_t i = 0; i < n && fd == -ENODEV; i++)
		fd = perf_event_open_wide(&p->attr, p->config3, -1, online[i], -1);
	free(online);
	if (fd == -EINVAL && p->attr.sample_type) {
		p->attr.sample_type = 0;
		return perf_events_try(p);
	}
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;	/* they have just gone */
	close(fd);
	return 0;
}

/* Disabling is not enough: a program on a tracepoint runs until its event is closed. */
static void stop_one(int fd)
{
	if (fd < 0)
		return;
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	close(fd);
}

static void stop_all(per_cpu_vec *cpus)
{
	for (size_t i = 0; i < cpus->n; i++) {
		stop_one(cpus->v[i].fd);
		stop_one(cpus->v[i].also);
	}
	cpus->n = 0;
}

void perf_events_stop(struct perf_events *p)
{
	stop_all(&p->cpus);
}

void perf_events_free(struct perf_events *p)
{
	if (!p)
		return;
	perf_events_stop(p);
	vec_free(&p->cpus);
	vec_free(&p->before);
	free(p->only);
	free(p);
}

/* An event whose CPU has gone never comes back: it is opened anew with its CPU. */
static void drop_offline(struct perf_events *p, const int *online, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->cpus.n; i++) {
		if (contains(online, n, p->cpus.v[i].cpu)) {
			p->cpus.v[kept++] = p->cpus.v[i];
			continue;
		}
		stop_one(p->cpus.v[i].fd);
		stop_one(p->cpus.v[i].also);
	}
	p->cpus.n = kept;
}

static int has_cpu(const struct perf_events *p, int cpu)
{
	for (size_t i = 0; i < p->cpus.n; i++)
		if (p->cpus.v[i].cpu == cpu)
			return 1;
	return 0;
}

static int put_into_map(const struct perf_events *p, int cpu, int fd)
{
	uint32_t at = p->first + (uint32_t)cpu;

	return bpf_map_update_elem(p->map, &at, &fd, BPF_ANY) ? -errno : 0;
}

/*
 * The event of @config on @cpu, which counts. Its descriptor or a negative errno; in *@link that of
 * its link, where it has one.
 */
static int start_one(const struct perf_events *p, uint64_t config, int cpu, int *link)
{
	struct perf_event_attr attr = p->attr;
	int fd, err = 0;

	attr.config = config;
	fd = perf_event_open_wide(&attr, p->config3, -1, cpu, -1);
	if (fd < 0)
		return fd;
	if (p->linked)
		err = *link = event_link(fd, p->prog_fd, p->cookie);
	else if (p->prog_fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, p->prog_fd))
		err = -errno;
	if (err >= 0 && p->map >= 0)
		err = put_into_map(p, cpu, fd);
	if (err >= 0 && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return fd;
	err = err < 0 ? err : -errno;
	close(fd);
	return err;
}

static int start_on(struct perf_events *p, int cpu)
{
	struct per_cpu c = { .cpu = cpu, .also = -1 };
	int err;

	c.fd = start_one(p, p->attr.config, cpu, &c.also);
	err = c.fd < 0 ? c.fd : 0;
	if (!err && p->also)
		err = c.also = start_one(p, p->also, cpu, &c.also);
	if (err < 0) {
		stop_one(c.fd);
		return err == -ENODEV ? 0 : err;	/* it went offline since we looked */
	}
	vec_push(&p->cpus, c);
	return 0;
}

int perf_events_refresh(struct perf_events *p, unsigned long spread_ns)
{
	int *online, err;
	size_t n;

	err = perf_online_cpus(p->only, p->nonly, &online, &n);
	if (err)
		return err;
	drop_offline(p, online, n);
	for (size_t i = 0; i < n && !err; i++) {
		struct timespec pause = { .tv_nsec = (long)(spread_ns / n) };

		if (has_cpu(p, online[i]))
			continue;
		if (i && pause.tv_nsec)
			nanosleep(&pause, NULL);
		err = start_on(p, online[i]);
	}
	free(online);
	return err;
}

int perf_events_set_frequency(struct perf_events *p, uint64_t frequency, unsigned long spread_ns)
{
	perf_events_stop(p);
	p->attr.sample_freq = frequency;
	return perf_events_refresh(p, spread_ns);
}

/* @cpus and their program change places with those before. */
static void exchange(struct perf_events *p)
{
	per_cpu_vec cpus = p->cpus;
	int prog_fd = p->prog_fd;

	p->cpus = p->before;
	p->prog_fd = p->prog_before;
	p->before = cpus;
	p->prog_before = prog_fd;
}

int perf_events_succeed(struct perf_events *p, int prog_fd, unsigned long spread_ns)
{
	int err;

	p->prog_before = prog_fd;
	exchange(p);
	err = perf_events_refresh(p, spread_ns);
	if (err)
		perf_events_settle(p, 0);
	return err;
}

void perf_events_settle(struct perf_events *p, int succeeded)
{
	if (!succeeded)
		exchange(p);
	stop_all(&p->before);
}

size_t perf_events_count(const struct perf_events *p)
{
	return p->cpus.n;
}
