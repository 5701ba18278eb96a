/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "proc/cgroup.h"

#define DEPTH_MAX 16	/* levels below it */

/* What is listed in cgroup.procs of the directory @dir. */
static void take_listed(int dir, cgroup_pids *pids)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	int pid;

	/* 0 is a process that cannot be seen from our PID namespace. */
	while (f && pids->n < CGROUP_PIDS_MAX && fscanf(f, "%d", &pid) == 1)
		if (pid > 0)
			vec_push(pids, pid);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
}

/* @fd is closed here. */
static void take_below(int fd, int depth, cgroup_pids *pids)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	take_listed(fd, pids);
	while (depth < DEPTH_MAX && pids->n < CGROUP_PIDS_MAX && (d = readdir(dir)))
		if (d->d_name[0] != '.' && (d->d_type == DT_DIR || d->d_type == DT_UNKNOWN))
			take_below(openat(fd, d->d_name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				   depth + 1, pids);
	closedir(dir);
}

void cgroup_processes(const struct cgroup *c, cgroup_pids *pids)
{
	take_below(open(c->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, pids);
}
