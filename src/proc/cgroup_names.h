/* SPDX-License-Identifier: MIT */
/* Names of all cgroups of a hierarchy, by the ids that BPF programs know. */
#ifndef EBPROF_CGROUP_NAMES_H
#define EBPROF_CGROUP_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The hierarchy that tells containers and services apart: a controller's of v1 where one is
 * mounted, else v2 (""). @controller has @size bytes.
 */
void cgroup_hierarchy(char *controller, size_t size);

/*
 * Calls @name for each cgroup of the hierarchy of @controller ("": v2) that there is now, with its
 * kernfs id and its path from the hierarchy's root on ("/" for that itself).
 */
void cgroup_names(const char *controller, void (*name)(void *ctx, uint64_t id, const char *path),
		  void *ctx);

#endif
