/* SPDX-License-Identifier: MIT */
/*
 * Paths that somebody else decides, opened part by part.
 *
 * What openat2(2) does with RESOLVE_IN_ROOT and RESOLVE_NO_MAGICLINKS, by
 * openat(2) alone: a system call filter sees whether openat(2) opens for
 * writing, and cannot see it of openat2(2) (base/sandbox.h).
 */
#ifndef EBPROF_WALK_H
#define EBPROF_WALK_H

#include <sys/types.h>

enum walk_links {
	WALK_NO_LINKS,		/* a symbolic link anywhere is -ELOOP */
	WALK_INNER_LINKS,	/* one at the end is opened itself */
	WALK_LINKS,
};

/*
 * Opens @path with O_PATH, so without touching the file. A relative path begins
 * at the directory @start, an absolute one, and an absolute link, at @root.
 * Where both are one descriptor nothing leads out of it, neither ".." nor a
 * renaming meanwhile. Links in /proc are refused: they lead anywhere. Nothing is
 * mounted: what an automounter has not mounted yet is not there. A descriptor,
 * or a negative errno.
 */
int walk_open(int root, int start, const char *path, enum walk_links links);
/* The same in our own root, from the directory @dir, which is opened whatever leads to it. */
int walk_open_from(const char *dir, const char *path, enum walk_links links);
/* The root directory of a process, for walk_open(). -ENOENT: it has ended. */
int walk_root_of(pid_t pid);

#endif
