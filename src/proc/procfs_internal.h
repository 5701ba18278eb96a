/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests need of procfs.c: the same over a made-up /proc.
 */
#ifndef EBPROF_PROCFS_INTERNAL_H
#define EBPROF_PROCFS_INTERNAL_H

#include <stddef.h>
#include <sys/types.h>

#include "proc/procfs.h"

/* Parses the text of a stat file. 0 or -EINVAL. */
int procfs_parse_stat(const char *text, struct procfs_stat *out);
/* procfs_descendants() where @proc is the mount point of proc. */
int procfs_descendants_in(const char *proc, pid_t pid, pid_t **pids, size_t *n);

#endif
