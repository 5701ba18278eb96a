/* SPDX-License-Identifier: MIT */
#include "stat/tally.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "collect/features.h"
#include "collect/load_log.h"
#include "tally.skel.h"

#define PARTS_MAX 16384		/* that are told apart: 6.6 MiB */
#define TARGETS_MAX 65536	/* threads that are there at a time */

struct tally {
	struct tally_bpf *skel;
	int ncpus;		/* possible ones */
};

static int configure(struct tally *t, const struct tally_options *o, struct error *e)
{
	struct tally_config *c = &t->skel->rodata->tally_config;

	c->by = o->by;
	c->cgroup = o->cgroup;
	c->events = (uint32_t)o->events;
	c->cpus = (uint32_t)t->ncpus;
	c->targets = o->targets != 0;
	if ((o->cgroup || o->by == TALLY_BY_CGROUP) && *o->controller) {
		c->subsys = features_cgroup_subsys(o->controller);
		if (c->subsys < 0)
			return error_set(e, STATUS_DENIED, c->subsys,
					 "this kernel's BTF does not tell of the cgroup controller "
					 "'%s'", o->controller);
	}
	bpf_map__set_max_entries(t->skel->maps.tally_events, c->events * c->cpus);
	bpf_map__set_max_entries(t->skel->maps.tallies, PARTS_MAX);
	bpf_map__set_max_entries(t->skel->maps.tally_targets, o->targets ? TARGETS_MAX : 1);
	bpf_program__set_autoload(t->skel->progs.tally_switch, true);
	bpf_program__set_autoload(t->skel->progs.tally_fork, o->targets);
	bpf_program__set_autoload(t->skel->progs.tally_exec, o->targets);
	bpf_program__set_autoload(t->skel->progs.tally_free, o->targets);
	return 0;
}

static int load(struct tally *t, const struct tally_options *o, struct error *e)
{
	static const struct load_use use[] = {
		{ "tally", "counts by thread, process, CPU or cgroup",
		  "leave out -G and --per-..., or use perf stat --per-thread" },
		{ 0 }
	};
	const struct load_use *const uses[] = { use, NULL };
	struct load_log log = { 0 };
	int err;

	load_log_into(&log);
	t->ncpus = libbpf_num_possible_cpus();
	t->skel = tally_bpf__open();
	if (!t->skel || t->ncpus < 1)
		err = error_set(e, STATUS_ERROR, -errno, "cannot open the BPF programs: %s",
				strerror(errno));
	else
		err = configure(t, o, e);
	if (!err) {
		load_log_reasons(t->skel->obj);
		err = tally_bpf__load(t->skel);
		if (!err && !t->skel->bss)
			err = -ENOMEM;
		if (!err)
			err = tally_bpf__attach(t->skel);
		if (err)
			load_log_explain(&log, uses, e, err, 0);
	}
	load_log_into(NULL);
	return err;
}

struct tally *tally_new(const struct tally_options *o, struct error *e)
{
	struct tally *t = xcalloc(1, sizeof(*t));

	if (!load(t, o, e))
		return t;
	tally_free(t);
	return NULL;
}

void tally_free(struct tally *t)
{
	if (!t)
		return;
	tally_bpf__destroy(t->skel);
	free(t);
}

static int put(const struct bpf_map *map, uint32_t key, uint32_t value, uint64_t flags)
{
	return bpf_map_update_elem(bpf_map__fd(map), &key, &value, flags) ? -errno : 0;
}

int tally_set_event(struct tally *t, size_t i, int cpu, int fd)
{
	return put(t->skel->maps.tally_events, (uint32_t)i * (uint32_t)t->ncpus + (uint32_t)cpu,
		   (uint32_t)fd, BPF_ANY);
}

/* Threads of @dir that are no targets yet, added; how many, or a negative errno. */
static int add_threads(struct tally *t, DIR *dir)
{
	struct dirent *d;
	int added = 0;

	rewinddir(dir);
	while ((d = readdir(dir))) {
		int err = d->d_name[0] == '.'
				  ? -EEXIST
				  : put(t->skel->maps.tally_targets, (uint32_t)atoi(d->d_name),
					TALLY_TARGET, BPF_NOEXIST);

		if (err && err != -EEXIST)
			return err;
		added += !err;
	}
	return added;
}

int tally_add_process(struct tally *t, pid_t pid)
{
	char path[64];
	DIR *dir;
	int added, any = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	/* One that started another before it was added itself is found the next time. */
	while ((added = add_threads(t, dir)) > 0)
		any = 1;
	closedir(dir);
	return added < 0 ? added : any ? 0 : -ESRCH;
}

int tally_add_command(struct tally *t, pid_t pid)
{
	return put(t->skel->maps.tally_targets, (uint32_t)pid, TALLY_TARGET_AT_EXEC, BPF_ANY);
}

void tally_start(struct tally *t)
{
	t->skel->bss->tally_on = 1;
}

/* Who runs on a CPU leaves it where we come: by that its counts are known. */
static void visit_all_cpus(const struct tally *t)
{
	size_t size = CPU_ALLOC_SIZE((size_t)t->ncpus);
	cpu_set_t *own = CPU_ALLOC((size_t)t->ncpus), *one = CPU_ALLOC((size_t)t->ncpus);

	if (own && one && !sched_getaffinity(0, size, own)) {
		for (int cpu = 0; cpu < t->ncpus; cpu++) {
			CPU_ZERO_S(size, one);
			CPU_SET_S((size_t)cpu, size, one);
			/* One that is offline, or that we may not use, is left out. */
			sched_setaffinity(0, size, one);
		}
		sched_setaffinity(0, size, own);
	}
	CPU_FREE(own);
	CPU_FREE(one);
}

size_t tally_read(struct tally *t, struct tally_part **parts)
{
	int map = bpf_map__fd(t->skel->maps.tallies);
	VEC(struct tally_part) v = { 0 };
	struct tally_key key, *before = NULL;

	visit_all_cpus(t);
	while (v.n < PARTS_MAX && !bpf_map_get_next_key(map, before, &key)) {
		struct tally_part p = { .key = key };

		if (!bpf_map_lookup_elem(map, &key, &p.entry))
			vec_push(&v, p);
		before = &key;
	}
	*parts = v.v;
	return v.n;
}

uint64_t tally_lost(const struct tally *t)
{
	return t->skel->bss->tally_lost;
}
