/* SPDX-License-Identifier: MIT */
/*
 * Small readers of /proc and /sys that take a number and give a fact. All
 * return 0 or a negative errno: -ESRCH where the process is gone.
 */
#ifndef EBPROF_PROCFS_H
#define EBPROF_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The whole of a small file, terminated; at most @size - 1 bytes. Returns the bytes read. */
ssize_t procfs_read(const char *path, char *buf, size_t size);
/* A file that holds one decimal number, such as a sysctl. */
int procfs_read_long(const char *path, long *value);
/* /proc/PID/comm, raw, without the newline. */
int procfs_comm(pid_t pid, char comm[16 + 1]);
/* 1 for a kernel thread (PF_KTHREAD in /proc/PID/stat, field 9), 0 for not. */
int procfs_is_kthread(pid_t pid);
/* The process (thread group) that @tid belongs to. */
int procfs_tgid(pid_t tid, pid_t *tgid);
/* Appends the processes alive now that descend from @pid, not itself. One pass over /proc. */
int procfs_descendants(pid_t pid, pid_t **pids, size_t *n);
/*
 * A list of CPUs or nodes as the kernel writes it ("0-3,7\n"), expanded to
 * ascending numbers in a malloc'd array; also used for -C. -EINVAL for
 * anything else, and for numbers over 65535.
 */
int procfs_parse_list(const char *text, int **cpus, size_t *n);

#endif
