/* SPDX-License-Identifier: MIT */
/*
 * procfs_descendants(): who descends from a process, now.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/io.h"
#include "base/vec.h"
#include "proc/procfs_internal.h"

struct relation { pid_t pid, ppid; };

typedef VEC(struct relation) relations;
typedef VEC(pid_t) pid_list;

/* A name of digits only as a number; 0 for any other name. */
static pid_t name_to_pid(const char *name)
{
	if (strlen(name) > 9 || name[strspn(name, "0123456789")])
		return 0;
	return (pid_t)atoi(name);
}

/* A file below @dir. -ESRCH where it is gone. */
static ssize_t read_at(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = io_read(fd, buf, size - 1);
	if (n >= 0)
		buf[n] = '\0';
	close(fd);
	return n;
}

/* Appends the pids of a "children" file, all of it: a thread may have many. */
static int append_children(int tasks, const char *tid, pid_list *out)
{
	char name[32], *line = NULL;
	size_t cap = 0;
	FILE *f;
	int fd;

	snprintf(name, sizeof(name), "%.16s/children", tid);
	fd = openat(tasks, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	while (getdelim(&line, &cap, ' ', f) > 0) {
		line[strcspn(line, " \n")] = '\0';
		if (name_to_pid(line) > 0)
			vec_push(out, name_to_pid(line));
	}
	free(line);
	fclose(f);
	return 0;
}

/*
 * The children of all threads of @pid. -ESRCH: gone, -ENOTSUP: this kernel does not list children.
 */
static int children_of(int proc, pid_t pid, pid_list *out)
{
	struct dirent *d;
	char name[32];
	DIR *tasks;
	int fd, err = 0, listed = 0;

	snprintf(name, sizeof(name), "%d/task", (int)pid);
	fd = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	tasks = fdopendir(fd);
	if (!tasks) {
		close(fd);
		return -ENOMEM;
	}
	while ((d = readdir(tasks)))
		if (name_to_pid(d->d_name) > 0) {
			err = append_children(dirfd(tasks), d->d_name, out);
			listed |= !err;
		}
	closedir(tasks);
	/*
	 * One thread may have ended meanwhile; that none has the file means there is no such file.
	 */
	return listed ? 0 : -ENOTSUP;
}

/* Follows the kernel's lists of children down from @pid. */
static int walk_children(int proc, pid_t pid, pid_list *out)
{
	struct hashmap seen = { 0 };
	pid_list all = { 0 };
	int err = children_of(proc, pid, &all);
	size_t kept = 0;

	hashmap_set(&seen, (uint64_t)pid, 0);
	/* A child handed over to a new parent during the walk may turn up twice. */
	for (size_t i = 0; !err && i < all.n; i++) {
		pid_t child = all.v[i];

		if (hashmap_get(&seen, (uint64_t)child) != HASHMAP_NONE)
			continue;
		hashmap_set(&seen, (uint64_t)child, 0);
		all.v[kept++] = child;
		children_of(proc, child, &all);
	}
	for (size_t i = 0; !err && i < kept; i++)
		vec_push(out, all.v[i]);
	hashmap_free(&seen);
	vec_free(&all);
	return err;
}

/* All processes and their parents. */
static int list_all(int proc, relations *out)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((d = readdir(dir))) {
		pid_t pid = name_to_pid(d->d_name);
		struct procfs_stat st;
		char name[32], buf[1024];

		if (pid <= 0)
			continue;
		snprintf(name, sizeof(name), "%d/stat", (int)pid);
		if (read_at(proc, name, buf, sizeof(buf)) > 0 && !procfs_parse_stat(buf, &st))
			vec_push(out, (struct relation){ pid, st.ppid });
	}
	closedir(dir);
	return 0;
}

static int by_parent(const void *a, const void *b)
{
	const struct relation *x = a, *y = b;

	return x->ppid < y->ppid ? -1 : x->ppid > y->ppid;
}

/* The first of @all, sorted by parent, whose parent is not below @ppid. */
static size_t first_child(const relations *all, pid_t ppid)
{
	size_t low = 0, high = all->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (all->v[mid].ppid < ppid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* One pass over all processes, then the tree below @pid, breadth first. */
static int scan_all(int proc, pid_t pid, pid_list *out)
{
	struct hashmap seen = { 0 };
	relations all = { 0 };
	size_t next = out->n;
	pid_t parent = pid;
	int err = list_all(proc, &all);

	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_parent);
	hashmap_set(&seen, (uint64_t)pid, 0);
	while (!err) {
		for (size_t i = first_child(&all, parent); i < all.n && all.v[i].ppid == parent;
		     i++) {
			/* The pass is no snapshot: PIDs used again in it could close a circle. */
			if (hashmap_get(&seen, (uint64_t)all.v[i].pid) != HASHMAP_NONE)
				continue;
			hashmap_set(&seen, (uint64_t)all.v[i].pid, 0);
			vec_push(out, all.v[i].pid);
		}
		if (next == out->n)
			break;
		parent = out->v[next++];
	}
	hashmap_free(&seen);
	vec_free(&all);
	return err;
}

int procfs_descendants_in(const char *proc_path, pid_t pid, pid_t **pids, size_t *n)
{
	pid_list out = { .v = *pids, .n = *n, .cap = *n };
	int proc = open(proc_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char name[32];
	int err;

	if (proc < 0)
		return -errno;
	snprintf(name, sizeof(name), "%d", (int)pid);
	err = faccessat(proc, name, F_OK, 0) ? -ESRCH : walk_children(proc, pid, &out);
	if (err && err != -ESRCH)
		err = scan_all(proc, pid, &out);
	close(proc);
	*pids = out.v;
	*n = out.n;
	return err;
}

int procfs_descendants(pid_t pid, pid_t **pids, size_t *n)
{
	return procfs_descendants_in("/proc", pid, pids, n);
}
