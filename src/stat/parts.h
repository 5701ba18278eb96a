/* SPDX-License-Identifier: MIT */
/* What counts are told apart by: threads, processes, CPUs, cgroups, with their names. */
#ifndef EBPROF_PARTS_H
#define EBPROF_PARTS_H

#include <stddef.h>
#include <sys/types.h>

#include "stat/counters.h"

struct stat_part {
	char *name;		/* clean: "comm 1234", "CPU 3", a cgroup's path */
	struct tally_key key;
	pid_t pid, tid;		/* 0: none */
	struct counted *counts;	/* of each event */
};

struct stat_parts {
	enum tally_by by;
	struct stat_part *v;	/* those that have most of the first event first; CPUs in order */
	size_t n;
};

/* As of the last counters_look(); @events (n) were counted. @controller as for tally_options. */
struct stat_parts stat_parts_new(const struct counters *c, enum tally_by by, size_t events,
				 const char *controller);
void stat_parts_free(struct stat_parts *p);
/* The part that @like is, or NULL. */
const struct stat_part *stat_parts_find(const struct stat_parts *p, const struct stat_part *like);

#endif
