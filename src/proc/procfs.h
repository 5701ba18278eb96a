/* SPDX-License-Identifier: MIT */
/*
 * Small readers of /proc/PID that give one fact. All return 0 or a negative
 * errno: -ESRCH where the process is gone. Plain files and lists of CPUs are
 * read by base/file.h.
 */
#ifndef EBPROF_PROCFS_H
#define EBPROF_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* /proc/PID/comm, raw, without the newline. */
int procfs_comm(pid_t pid, char comm[16 + 1]);
/* What /proc/PID/stat tells (proc(5)). */
struct procfs_stat {
	char state;		/* field 3: 'R', 'Z', ... */
	pid_t ppid;		/* field 4 */
	uint32_t flags;		/* field 9: PF_* of the kernel */
	uint64_t ran;		/* fields 14 and 15: CPU time of its threads, in those ticks */
	uint32_t threads;	/* field 20 */
	/* field 22: when it started, in ticks of sysconf(_SC_CLK_TCK), CLOCK_BOOTTIME */
	uint64_t start;
};
int procfs_stat(pid_t pid, struct procfs_stat *out);
/* Calls @fn for each process that there is; nothing where there is no /proc. */
void procfs_each(void (*fn)(void *ctx, pid_t pid), void *ctx);
/* The same for each thread of @pid. */
int procfs_each_thread(pid_t pid, void (*fn)(void *ctx, pid_t tid), void *ctx);
/* 1 for a kernel thread (PF_KTHREAD in /proc/PID/stat, field 9), 0 for not. */
int procfs_is_kthread(pid_t pid);
/* The process (thread group) that @tid belongs to. */
int procfs_tgid(pid_t tid, pid_t *tgid);
/*
 * Appends the processes alive now that descend from @pid, not itself, to the
 * malloc'd array *@pids of *@n. One pass over /proc, or less where the kernel
 * lists children (CONFIG_PROC_CHILDREN).
 */
int procfs_descendants(pid_t pid, pid_t **pids, size_t *n);
#endif
