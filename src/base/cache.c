/* SPDX-License-Identifier: MIT */
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"

#define FOLDER "ebprof"

char *cache_base(const struct user *u)
{
	const char *xdg = getenv("XDG_CACHE_HOME");
	char *home, *base;

	if (xdg && *xdg == '/')
		return xstrdup(xdg);
	home = user_home(u);
	base = home ? xasprintf("%s/.cache", home) : NULL;
	free(home);
	return base;
}

int cache_is_own(const struct user *u, const struct stat *st, mode_t type)
{
	uid_t owner = u->switched ? u->uid : geteuid();

	return (st->st_mode & S_IFMT) == type && st->st_uid == owner &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* The folder @name in @in. */
static int open_own(const struct user *u, int in, const char *name, int make)
{
	struct stat st;
	int dir;

	if (make)
		mkdirat(in, name, 0700);
	dir = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (!fstat(dir, &st) && cache_is_own(u, &st, S_IFDIR))
		return dir;
	close(dir);
	return -EPERM;
}

int cache_open(const struct user *u, const char *base, const char *part, int make)
{
	int in, dir;

	if (make && mkdir(base, 0700) && errno != EEXIST)
		return -errno;
	in = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in < 0)
		return -errno;
	dir = open_own(u, in, FOLDER, make);
	close(in);
	if (dir < 0 || !part)
		return dir;
	in = dir;
	dir = open_own(u, in, part, make);
	close(in);
	return dir;
}
