/* SPDX-License-Identifier: MIT */
/*
 * What the user named as target, looked up: does it exist, what is it, and
 * when has it ended?
 */
#ifndef EBPROF_TARGETS_H
#define EBPROF_TARGETS_H

#include "base/error.h"
#include "base/vec.h"
#include "collect/target_options.h"
#include "proc/cgroup.h"

struct targets {
	VEC(struct target) list;	/* processes or threads; empty: not chosen by number */
	/*
	 * The ids of these, and behind them those of what the processes have forked, if that is
	 * followed.
	 */
	VEC(pid_t) ids;
	struct cgroup cgroup;		/* id 0: not chosen by cgroup */
	cgroup_pids members;		/* of the cgroup, as it was looked up */
	int kthreads;			/* that many are kernel threads */
};

struct target {
	pid_t id, tgid;
	/* of the process; -1 where the kernel has none, or for a thread */
	int pidfd;
};

/* Fills @t; -ESRCH and the like with @e filled (STATUS_NO_TARGET). */
int targets_find(struct targets *t, const struct target_options *o, struct error *e);
/*
 * Adds to @t->ids what was forked since then, and returns the index of the first new one. Once the
 * kernel follows forks, nothing is missed after it.
 */
size_t targets_find_forked(struct targets *t, const struct target_options *o);
/* 1 when all that were chosen by number have ended; 0 where none was. */
int targets_ended(const struct targets *t);
void targets_free(struct targets *t);

#endif
