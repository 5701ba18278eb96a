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

/* An event on one PMU. */
struct part {
	struct event event;
	int *on;		/* CPUs on which that counts; NULL: all */
	size_t n_on;
};

struct counter {
	int_vec fds, cpus;	/* a descriptor for each thread, or for each CPU */
	int absent;
	struct part *parts;	/* one, but for those of several PMUs, which are summed up */
	size_t n;
	struct counted seen;	/* as of counters_look() */
};

struct counters {
	const struct event *events;
	size_t n;
	int user_only;
	struct counter *v;
	size_t lead, members;		/* events of the group, whose first one leads; 0: none */
	int apart;			/* by @tallying, which has the events of each CPU */
	struct tally_options tallying;
	struct tally *tally;
	struct tally_part *parts;	/* as of counters_look() */
	size_t nparts;
};

static void find_parts(struct counter *v, const struct event *ev)
{
	struct event *each;

	v->n = pmu_events(ev, PMU_DEVICES, &each);
	v->parts = xcalloc(v->n, sizeof(*v->parts));
	for (size_t i = 0; i < v->n; i++) {
		v->parts[i].event = each[i];
		pmu_cpus(&each[i], PMU_DEVICES, &v->parts[i].on, &v->parts[i].n_on);
	}
	free(each);
}

struct counters *counters_new(const struct event *events, size_t n)
{
	struct counters *c = xcalloc(1, sizeof(*c));

	*c = (struct counters){ .events = events, .n = n, .v = xcalloc(n, sizeof(*c->v)) };
	for (size_t i = 0; i < n; i++)
		find_parts(&c->v[i], &events[i]);
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
		for (size_t k = 0; k < c->v[i].n; k++)
			free(c->v[i].parts[k].on);
		free(c->v[i].parts);
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

void counters_group(struct counters *c, size_t first, size_t n)
{
	c->lead = first;
	c->members = n;
}

/* Event @i is in the group; @led: and another one leads it. */
static int in_group(const struct counters *c, size_t i, int led)
{
	return i >= c->lead + (led != 0) && i < c->lead + c->members;
}

/* This machine does not have it, or not for such a target. */
static int is_absent(int err)
{
	return err == -ENOENT || err == -EOPNOTSUPP || err == -ENODEV || err == -EINVAL;
}

/* Attributes of @ev, which is event @i, for counting: what sampling asks for is taken back. */
static struct perf_event_attr attributes(const struct counters *c, size_t i, const struct event *ev,
					 int on_exec, int inherit)
{
	struct perf_event_attr attr = event_attr(ev, 0, 0, 1);
	int led = in_group(c, i, 1);

	attr.sample_period = 0;
	/* One that is led counts whenever its leader does. */
	attr.disabled = !led;
	attr.enable_on_exec = on_exec && !led;
	attr.inherit = inherit & 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (in_group(c, i, 0))
		attr.read_format |= PERF_FORMAT_GROUP;
	return attr;
}

/*
 * Event @i, on one PMU as @ev, of @pid on @cpu. Who may not look into the kernel counts what is
 * outside of it.
 */
static int open_one(struct counters *c, size_t i, const struct event *ev, pid_t pid, int cpu,
		    int on_exec)
{
	struct perf_event_attr attr = attributes(c, i, ev, on_exec, pid >= 0);
	const struct counter *lead = &c->v[c->lead];
	int group = in_group(c, i, 1) ? lead->fds.v[lead->fds.n - 1] : -1, fd;

	attr.exclude_kernel |= c->user_only & 1;
	fd = perf_event_open_wide(&attr, ev->config3, pid, cpu, group);
	if ((fd == -EACCES || fd == -EPERM) && !attr.exclude_kernel) {
		attr.exclude_kernel = 1;
		fd = perf_event_open_wide(&attr, ev->config3, pid, cpu, group);
		c->user_only |= fd >= 0;
	}
	if (fd < 0)
		return fd;
	vec_push(&c->v[i].fds, fd);
	vec_push(&c->v[i].cpus, cpu);
	return 0;
}

/* Where @cpu is not one, but all that a thread runs on, the kernel knows. */
static int counts_on(const struct part *p, int cpu)
{
	return cpu < 0 || !p->on || bsearch(&cpu, p->on, p->n_on, sizeof(cpu), list_compare);
}

/* On all its PMUs that count on @cpu; it is absent where none has it. */
static int open_parts(struct counters *c, size_t i, pid_t pid, int cpu, int on_exec)
{
	const struct counter *v = &c->v[i];
	size_t opened = 0;
	int absent = 0;

	for (size_t k = 0; k < v->n; k++) {
		int err = counts_on(&v->parts[k], cpu)
				  ? open_one(c, i, &v->parts[k].event, pid, cpu, on_exec)
				  : 0;

		if (err && !is_absent(err))
			return err;
		opened += !err;
		absent = err ? err : absent;
	}
	return opened ? 0 : absent;
}

/* All events of @pid on @cpu; -ESRCH where it has just ended. */
static int open_all(struct counters *c, pid_t pid, int cpu, int on_exec, struct error *e)
{
	for (size_t i = 0; i < c->n; i++) {
		int err;

		c->v[i].absent |= in_group(c, i, 1) && c->v[c->lead].absent;
		err = c->v[i].absent ? 0 : open_parts(c, i, pid, cpu, on_exec);
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

/* --- Values. ------------------------------------------------------------------------- */

static void add_part(struct sums *s, const struct tally_part *part, size_t i)
{
	const struct tally_count *got = &part->entry.counts[i];

	sums_add(s, (double)got->value, (double)got->enabled, (double)got->running);
}

static struct counted counted_of(const struct sums *s, const struct event *ev)
{
	return sums_end(s, ev->scale > 0 ? ev->scale : 1);
}

static void look_at_parts(struct counters *c)
{
	free(c->parts);
	c->nparts = tally_read(c->tally, &c->parts);
	for (size_t i = 0; i < c->n; i++) {
		struct sums s = { 0 };

		for (size_t k = 0; k < c->nparts; k++)
			add_part(&s, &c->parts[k], i);
		c->v[i].seen = counted_of(&s, &c->events[i]);
	}
}

static void look_at_one(struct counters *c, size_t i)
{
	struct sums s = { 0 };

	for (size_t k = 0; k < c->v[i].fds.n; k++) {
		uint64_t got[3];	/* value, time enabled, time running */

		if (io_read_full(c->v[i].fds.v[k], got, sizeof(got)) == sizeof(got))
			sums_add(&s, (double)got[0], (double)got[1], (double)got[2]);
	}
	c->v[i].seen = counted_of(&s, &c->events[i]);
}

/* All values of a group are of one moment. */
static void look_at_group(struct counters *c)
{
	const struct counter *lead = &c->v[c->lead];
	struct sums *sums = xcalloc(c->members, sizeof(*sums));
	size_t size = (3 + c->members) * sizeof(uint64_t);
	uint64_t *got = xcalloc(1, size);	/* how many, times enabled and running, values */

	for (size_t k = 0; k < lead->fds.n; k++) {
		if (io_read_full(lead->fds.v[k], got, size) != (ssize_t)size ||
		    got[0] != c->members)
			continue;
		for (size_t i = 0; i < c->members; i++)
			sums_add(&sums[i], (double)got[3 + i], (double)got[1], (double)got[2]);
	}
	for (size_t i = 0; i < c->members; i++)
		c->v[c->lead + i].seen = counted_of(&sums[i], &c->events[c->lead + i]);
	free(got);
	free(sums);
}

void counters_look(struct counters *c)
{
	if (c->tally) {
		look_at_parts(c);
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		if (!in_group(c, i, 0))
			look_at_one(c, i);
	if (c->members)
		look_at_group(c);
}

struct counted counters_read(const struct counters *c, size_t i)
{
	return c->v[i].seen;
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

	add_part(&s, &c->parts[part], i);
	return counted_of(&s, &c->events[i]);
}

int counters_lost(const struct counters *c)
{
	return c->tally && tally_lost(c->tally);
}
