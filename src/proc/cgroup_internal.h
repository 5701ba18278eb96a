/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests need of cgroup.c: the same over a made-up list of mounts.
 */
#ifndef EBPROF_CGROUP_INTERNAL_H
#define EBPROF_CGROUP_INTERNAL_H

#include "proc/cgroup.h"

/* cgroup_find() where @mountinfo is a file like /proc/self/mountinfo (proc(5)). */
int cgroup_find_in(const char *mountinfo, const char *name, struct cgroup *out, struct error *e);

#endif
