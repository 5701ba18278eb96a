/* SPDX-License-Identifier: MIT */
#include "base/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* directories below where the walk began, which stay open for ".." */
#define DEPTH_MAX	64
#define LINKS_MAX	40	/* as in the kernel */

struct walk {
	int root, confined;
	int base;		/* where it begins */
	int open[DEPTH_MAX];	/* what lies below, from the top */
	size_t depth;
	int links;		/* that were followed */
	char left[PATH_MAX];	/* what is still to go */
};

static int here(const struct walk *w)
{
	return w->depth ? w->open[w->depth - 1] : w->base;
}

static void climb(struct walk *w)
{
	while (w->depth)
		close(w->open[--w->depth]);
}

static int begin_at(struct walk *w, int fd)
{
	climb(w);
	if (w->base >= 0)
		close(w->base);
	w->base = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return w->base < 0 ? -errno : 0;
}

/* "..": by what is open, because a directory may be moved while we are in it. */
static int go_up(struct walk *w)
{
	int fd;

	if (w->depth)
		close(w->open[--w->depth]);
	else if (!w->confined) {
		fd = openat(w->base, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		close(w->base);
		w->base = fd;
	}
	return 0;
}

/* Puts what the link @fd says before @rest of the path. */
static int follow(struct walk *w, int fd, const char *rest)
{
	char path[PATH_MAX];
	size_t size = strlen(rest) + 1;
	struct statfs fs;
	ssize_t n;

	if (++w->links > LINKS_MAX || fstatfs(fd, &fs) || fs.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	n = readlinkat(fd, "", path, sizeof(path));
	if (n <= 0)
		return n ? -errno : -ENOENT;
	if ((size_t)n + 1 + size > sizeof(path))
		return -ENAMETOOLONG;
	path[n] = '/';
	memcpy(path + n + 1, rest, size);
	memcpy(w->left, path, (size_t)n + 1 + size);
	return path[0] == '/' ? begin_at(w, w->root) : 0;
}

/*
 * Whether only looking for @name in @dir would make an automounter mount it; what is there already
 * it leaves alone.
 */
static int would_mount(int dir, const char *name)
{
	struct dirent *entry = NULL;
	struct statfs fs;
	DIR *names;
	int fd;

	if (fstatfs(dir, &fs) || fs.f_type != AUTOFS_SUPER_MAGIC)
		return 0;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	names = fd < 0 ? NULL : fdopendir(fd);
	while (names && (entry = readdir(names)) && strcmp(entry->d_name, name))
		;
	if (names)
		closedir(names);
	else if (fd >= 0)
		close(fd);
	return !entry;
}

static int go_down(struct walk *w, const char *name, const char *rest, enum walk_links links)
{
	int last = !rest[strspn(rest, "/")], fd, err = 0;
	struct stat st;

	if (would_mount(here(w), name))
		return -ENOENT;
	fd = openat(here(w), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (S_ISLNK(st.st_mode) && links == WALK_NO_LINKS)
		err = -ELOOP;
	else if (S_ISLNK(st.st_mode) && (links == WALK_LINKS || !last))
		err = follow(w, fd, rest);
	else if (w->depth == DEPTH_MAX)
		err = -ENAMETOOLONG;
	else {
		w->open[w->depth++] = fd;
		memmove(w->left, rest, strlen(rest) + 1);
		return 0;
	}
	close(fd);
	return err;
}

/* The first part of what is left. */
static int step(struct walk *w, enum walk_links links)
{
	const char *from = w->left + strspn(w->left, "/"), *rest = from + strcspn(from, "/");
	size_t n = (size_t)(rest - from);
	char name[NAME_MAX + 1];

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, from, n);
	name[n] = '\0';
	if (n && strcmp(name, ".") && strcmp(name, ".."))
		return go_down(w, name, rest, links);
	memmove(w->left, rest, strlen(rest) + 1);
	return strcmp(name, "..") ? 0 : go_up(w);
}

int walk_open(int root, int start, const char *path, enum walk_links links)
{
	struct walk w = { .root = root, .confined = root == start, .base = -1 };
	int err, fd;

	if (strlen(path) >= sizeof(w.left))
		return -ENAMETOOLONG;
	strcpy(w.left, path);
	err = begin_at(&w, *path == '/' ? root : start);
	while (!err && *w.left)
		err = step(&w, links);
	fd = err ? err : fcntl(here(&w), F_DUPFD_CLOEXEC, 0);
	if (!err && fd < 0)
		fd = -errno;
	climb(&w);
	if (w.base >= 0)
		close(w.base);
	return fd;
}

int walk_open_from(const char *dir, const char *path, enum walk_links links)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), start, fd;

	if (root < 0)
		return -errno;
	start = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = start < 0 ? -errno : walk_open(root, start, path, links);
	if (start >= 0)
		close(start);
	close(root);
	return fd;
}

int walk_root_of(pid_t pid)
{
	char root[32];
	int fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
