/* SPDX-License-Identifier: MIT */
/* The cgroup of a container or pod that runs here, by its name. */
#ifndef EBPROF_CONTAINER_FIND_H
#define EBPROF_CONTAINER_FIND_H

#include "base/error.h"
#include "proc/cgroup.h"

/*
 * @name: a container's, or "pod/NAME" or "pod/NAMESPACE/NAME"; @root as for container_look().
 * Negative with @e filled: there is none, or several.
 */
int container_cgroup(const char *root, const char *name, struct cgroup *out, struct error *e);

#endif
