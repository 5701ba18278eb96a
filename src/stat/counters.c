/* SPDX-License-Identifier: MIT */
#include "stat/counters.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/io.h"
#include "base/vec.h"
#include "collect/perf_events.h"
#include "collect/pmu.h"

struct counter {
	int_vec fds, cpus;	/* a descriptor for each thread, or for each CPU */
	int absent;
	int *on;		/* CPUs on which its PMU counts; NULL: all */
	size_t n_on;
};

struct counters {
	const struct event *events;
	size_t n;
	int user_only;
	struct counter *v;
	int apart;			/* by @tallying, which has the events of each CPU */
	struct tally_options tallying;
	struct tally *tally;
	struct tally_part *parts;	/* as of counters_look() */
	size_t nparts;
};

struct counters *counters_new(const struct event *events, size_t n)
{
	struct counters *c = xcalloc(1, sizeof(*c));

	*c = (struct counters){ .events = events, .n = n, .v = xcalloc(n, sizeof(*c->v)) };
	for (size_t i = 0; i < n; i++)
		pmu_cpus(&events[i], PMU_DEVICES, &c->v[i].on, &c->v[i].n_on);
	return c;
}

void counters_free(struct counters *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->v[i].fds.n; k++)
			close(c->v[i].fds.v[k]);
		vec_free(&c->v[i].fds);
		vec_free(&c->v[i].cpus);
		free(c->v[i].on);
	}
	tally_free(c->tally);
	free(c->parts);
	free(c->v);
	free(c);
}

void counters_tell_apart(struct counters *c, enum tally_by by, uint64_t cgroup,
			 const char *controller)
{
	c->apart = 1;
	c->tallying = (struct tally_options){ .by = by, .cgroup = cgroup,
					      .controller = controller, .events = c->n };
}

/* This machine does not have it, or not for such a target. */
static int is_absent(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -EINVAL;
}

/* An event's attributes for counting: what sampling asks for is taken back. */
static struct perf_event_attr attributes(const struct event *ev, int on_exec, int inherit)
{
	struct perf_event_attr attr = event_attr(ev, 0, 0, 1);

	attr.sample_period = 0;
	attr.disabled = 1;
	attr.enable_on_exec = on_exec & 1;
	attr.inherit = inherit & 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	return attr;
}

/* Event @i of @pid on @cpu. Who may not look into the kernel counts what is outside of it. */
static int open_one(struct counters *c, size_t i, pid_t pid, int cpu, int on_exec)
{
	struct perf_event_attr attr = attributes(&c->events[i], on_exec, pid >= 0);
	int fd;

	attr.exclude_kernel |= c->user_only & 1;
	fd = perf_event_open(&attr, pid, cpu);
	if ((fd == -EACCES || fd == -EPERM) && !attr.exclude_kernel) {
		attr.exclude_kernel = 1;
		fd = perf_event_open(&attr, pid, cpu);
		c->user_only |= fd >= 0;
	}
	if (fd < 0)
		return fd;
	vec_push(&c->v[i].fds, fd);
	vec_push(&c->v[i].cpus, cpu);
	return 0;
}

/* Where @cpu is not one, but all that a thread runs on, the kernel knows. */
static int counts_on(const struct counter *v, int cpu)
{
	return cpu < 0 || !v->on || bsearch(&cpu, v->on, v->n_on, sizeof(cpu), list_compare);
}

/* All events of @pid on @cpu; -ESRCH where it has just ended. */
static int open_all(struct counters *c, pid_t pid, int cpu, int on_exec, struct error *e)
{
	for (size_t i = 0; i < c->n; i++) {
		int skip = c->v[i].absent || !counts_on(&c->v[i], cpu);
		int err = skip ? 0 : open_one(c, i, pid, cpu, on_exec);

		if (is_absent(err))
			c->v[i].absent = 1;
		else if (err == -ESRCH)
			return err;
		else if (err == -EACCES || err == -EPERM)
			return error_set(e, STATUS_DENIED, err,
					 "may not count %s: %s; run it as root, or set "
					 "kernel.perf_event_paranoid to 1",
					 c->events[i].name, strerror(-err));
		else if (err)
			return error_set(e, STATUS_ERROR, err, "cannot count %s: %s",
					 c->events[i].name, strerror(-err));
	}
	return 0;
}

/* All events on all CPUs that are online. */
static int open_on_cpus(struct counters *c, struct error *e)
{
	int *cpus, err;
	size_t n;

	err = perf_online_cpus(NULL, 0, &cpus, &n);
	if (err)
		return error_set(e, STATUS_ERROR, err, "cannot list the CPUs: %s", strerror(-err));
	for (size_t i = 0; i < n && !err; i++)
		err = open_all(c, -1, cpus[i], 0, e);
	free(cpus);
	return err;
}

/* The same, with the program that tells apart what they count; @targets: of threads to be added. */
static int open_apart(struct counters *c, int targets, struct error *e)
{
	int err = open_on_cpus(c, e);

	if (err)
		return err;
	c->tallying.targets = targets;
	c->tally = tally_new(&c->tallying, e);
	if (!c->tally)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].fds.n && !err; k++)
			err = tally_set_event(c->tally, i, c->v[i].cpus.v[k], c->v[i].fds.v[k]);
	return err ? error_set(e, STATUS_ERROR, err, "cannot hand events to the BPF program: %s",
			       strerror(-err))
		   : 0;
}

static int no_process(pid_t pid, struct error *e)
{
	return error_set(e, STATUS_NO_TARGET, -ESRCH, "no process %d", pid);
}

int counters_of_command(struct counters *c, pid_t pid, struct error *e)
{
	int err = c->apart ? open_apart(c, 1, e) : open_all(c, pid, -1, 1, e);

	if (!err && c->apart) {
		err = tally_add_command(c->tally, pid);
		counters_start(c);
	}
	return err == -ESRCH ? error_set(e, STATUS_ERROR, err, "the command is gone") : err;
}

/* A descriptor for each thread that @pid has; what these start is counted with them. */
static int open_threads(struct counters *c, pid_t pid, struct error *e)
{
	char path[64];
	struct dirent *d;
	size_t opened = 0;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (!err || err == -ESRCH) && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		err = open_all(c, (pid_t)atoi(d->d_name), -1, 0, e);
		opened += !err;
	}
	if (dir)
		closedir(dir);
	if (opened && err == -ESRCH)
		err = 0;
	return !opened && (!err || err == -ESRCH) ? no_process(pid, e) : err;
}

int counters_of_process(struct counters *c, pid_t pid, struct error *e)
{
	int err;

	if (!c->apart)
		return open_threads(c, pid, e);
	err = open_apart(c, 1, e);
	if (err)
		return err;
	err = tally_add_process(c->tally, pid);
	if (err == -ESRCH)
		return no_process(pid, e);
	return err ? error_set(e, STATUS_ERROR, err, "cannot follow the threads of %d: %s", pid,
			       strerror(-err))
		   : 0;
}

int counters_of_machine(struct counters *c, struct error *e)
{
	return c->apart ? open_apart(c, 0, e) : open_on_cpus(c, e);
}

static void tell_all(const struct counters *c, unsigned long request)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->v[i].fds.n; k++)
			ioctl(c->v[i].fds.v[k], request, 0);
}

void counters_start(struct counters *c)
{
	tell_all(c, PERF_EVENT_IOC_ENABLE);
	if (c->tally)
		tally_start(c->tally);
}

void counters_stop(struct counters *c)
{
	tell_all(c, PERF_EVENT_IOC_DISABLE);
}

int counters_absent(const struct counters *c, size_t i)
{
	return c->v[i].absent;
}

int counters_user_only(const struct counters *c)
{
	return c->user_only;
}

void counters_look(struct counters *c)
{
	if (!c->tally)
		return;
	free(c->parts);
	c->nparts = tally_read(c->tally, &c->parts);
}

/* Sums of what counters say: what they counted, scaled to the time that they should have. */
struct sums {
	double value, enabled, running;
};

static void sum_up(struct sums *s, double value, double enabled, double running)
{
	if (running <= 0)
		return;
	s->value += value * (enabled / running);
	s->enabled += enabled;
	s->running += running;
}

static struct counted counted_of(const struct sums *s, const struct event *ev)
{
	double scale = ev->scale > 0 ? ev->scale : 1;

	return (struct counted){ s->value * scale, s->enabled > 0 ? s->running / s->enabled : 0 };
}

static void sum_up_part(struct sums *s, const struct tally_part *part, size_t i)
{
	const struct tally_count *got = &part->entry.counts[i];

	sum_up(s, (double)got->value, (double)got->enabled, (double)got->running);
}

struct counted counters_read(const struct counters *c, size_t i)
{
	struct sums s = { 0 };

	for (size_t k = 0; k < c->nparts; k++)
		sum_up_part(&s, &c->parts[k], i);
	for (size_t k = 0; k < c->v[i].fds.n && !c->tally; k++) {
		uint64_t got[3];	/* value, time enabled, time running */

		if (io_read_full(c->v[i].fds.v[k], got, sizeof(got)) == sizeof(got))
			sum_up(&s, (double)got[0], (double)got[1], (double)got[2]);
	}
	return counted_of(&s, &c->events[i]);
}

size_t counters_parts(const struct counters *c)
{
	return c->nparts;
}

const struct tally_part *counters_part(const struct counters *c, size_t part)
{
	return &c->parts[part];
}

struct counted counters_part_read(const struct counters *c, size_t part, size_t i)
{
	struct sums s = { 0 };

	sum_up_part(&s, &c->parts[part], i);
	return counted_of(&s, &c->events[i]);
}

int counters_lost(const struct counters *c)
{
	return c->tally && tally_lost(c->tally);
}
