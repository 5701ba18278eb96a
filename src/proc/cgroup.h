/* SPDX-License-Identifier: MIT */
/*
 * Finds the cgroup that -G names: a path, or a container's id.
 */
#ifndef EBPROF_CGROUP_H
#define EBPROF_CGROUP_H

#include <stdint.h>

#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

struct cgroup {
	/* of its kernfs node: the directory's inode (cgroup_id in the kernel) */
	uint64_t id;
	/* "" on cgroup v2; on v1 the controller whose hierarchy it is in, as "memory" */
	char controller[32];
	char path[4096];	/* where it was found */
};

/*
 * @name is a path (absolute below any cgroup mount, or relative to a
 * hierarchy's root), or a container id or a unique prefix of one of at least 6
 * characters, as docker, podman, containerd, CRI-O and systemd name their
 * cgroups (docker-<id>.scope, <id>, cri-containerd-<id>.scope, libpod-<id>.scope,
 * crio-<id>.scope). v2 wins over v1 where both have it. Fills @e: none found, an
 * ambiguous prefix, or one id in two places (with two of the candidates). 0 or a negative errno.
 */
int cgroup_find(const char *name, struct cgroup *out, struct error *e);

#define CGROUP_PIDS_MAX 4096

typedef VEC(pid_t) cgroup_pids;

/* Adds the processes in it and in those below it, as far as they can be seen from here. */
void cgroup_processes(const struct cgroup *c, cgroup_pids *pids);

#endif
