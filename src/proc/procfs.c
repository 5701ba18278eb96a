/* SPDX-License-Identifier: MIT */
#include "proc/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "proc/procfs_internal.h"

#define PF_KTHREAD	0x00200000	/* include/linux/sched.h */

/* Reads /proc/PID/NAME; a missing file means that the process is gone. */
static ssize_t read_of(pid_t pid, const char *name, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = file_read(path, buf, size);
	return n == -ENOENT ? -ESRCH : n;
}

static int each_in(const char *path, void (*fn)(void *ctx, pid_t id), void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)*entry->d_name))
			fn(ctx, atoi(entry->d_name));
	closedir(dir);
	return 0;
}

void procfs_each(void (*fn)(void *ctx, pid_t pid), void *ctx)
{
	each_in("/proc", fn, ctx);
}

int procfs_each_thread(pid_t pid, void (*fn)(void *ctx, pid_t tid), void *ctx)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return each_in(path, fn, ctx);
}

int procfs_comm(pid_t pid, char comm[16 + 1])
{
	char buf[64];
	ssize_t n = read_of(pid, "comm", buf, sizeof(buf));

	if (n < 0)
		return (int)n;
	/* A comm may hold newlines: only the last one is the file's. */
	if (n && buf[n - 1] == '\n')
		buf[--n] = '\0';
	if (n > 16)
		n = 16;
	memcpy(comm, buf, (size_t)n);
	comm[n] = '\0';
	return 0;
}

int procfs_parse_stat(const char *text, struct procfs_stat *out)
{
	/*
	 * Field 2, the comm, may hold anything, parentheses and blanks too; no later field holds
	 * one.
	 */
	const char *p = strrchr(text, ')');
	uint64_t user, kernel;
	int ppid;

	if (!p || sscanf(p + 1,
			 " %c %d %*s %*s %*s %*s %" SCNu32 " %*s %*s %*s %*s %" SCNu64
			 " %" SCNu64 " %*s %*s %*s %*s %" SCNu32 " %*s %" SCNu64,
			 &out->state, &ppid, &out->flags, &user, &kernel, &out->threads,
			 &out->start) != 7)
		return -EINVAL;
	out->ppid = ppid;
	out->ran = user + kernel;
	return 0;
}

int procfs_stat(pid_t pid, struct procfs_stat *out)
{
	char buf[1024];
	ssize_t n = read_of(pid, "stat", buf, sizeof(buf));

	return n < 0 ? (int)n : procfs_parse_stat(buf, out);
}

int procfs_is_kthread(pid_t pid)
{
	struct procfs_stat st;
	int err = procfs_stat(pid, &st);

	return err ? err : !!(st.flags & PF_KTHREAD);
}

int procfs_tgid(pid_t tid, pid_t *tgid)
{
	char buf[512], *line;
	ssize_t n = read_of(tid, "status", buf, sizeof(buf));
	int value;

	if (n < 0)
		return (int)n;
	/* The name above it comes with its newlines escaped. */
	line = strstr(buf, "\nTgid:");
	if (!line || sscanf(line, "\nTgid: %d", &value) != 1 || value <= 0)
		return -EINVAL;
	*tgid = value;
	return 0;
}
