/* SPDX-License-Identifier: MIT */
/*
 * The cgroup hierarchies that are mounted, in the order in which we search them.
 */
#ifndef EBPROF_CGROUP_MOUNTS_H
#define EBPROF_CGROUP_MOUNTS_H

#include <sys/types.h>

#include "base/vec.h"

struct cgroup_mount {
	char *point;		/* where it is mounted */
	/* which cgroup of the hierarchy is mounted there, "/" for all of it */
	char *root;
	dev_t device;
	/* 0: v2, else 1 + the controller's place in the order of preference */
	int rank;
};

typedef VEC(struct cgroup_mount) cgroup_mounts;

/*
 * Reads @mountinfo (proc(5)), v2 first; hierarchies without a controller are left out. 0 or a
 * negative errno.
 */
int cgroup_mounts_read(const char *mountinfo, cgroup_mounts *out);
void cgroup_mounts_free(cgroup_mounts *m);
/* "" for v2. */
const char *cgroup_mount_controller(const struct cgroup_mount *m);

#endif
