/* SPDX-License-Identifier: MIT */
/*
 * The folder of the invoking user for what may be lost: ebprof in $XDG_CACHE_HOME, else in
 * ~/.cache. It is that user's own, and nobody else may write there, or it is not used.
 */
#ifndef EBPROF_CACHE_H
#define EBPROF_CACHE_H

#include <sys/stat.h>

#include "base/user.h"

/* The folder that ours is in, in a malloc'd text; NULL where @u has none. Touches nothing. */
char *cache_base(const struct user *u);
/*
 * Opens our folder in @base, or @part ("last") of it where that is not NULL, and makes it first
 * where @make is 1; between user_enter() and user_leave(). A descriptor, or a negative errno:
 * -EPERM where another one than @u may write there.
 */
int cache_open(const struct user *u, const char *base, const char *part, int make);
/* Whether @st is of a file of type @type (S_IF*) of @u's, that nobody else may have written. */
int cache_is_own(const struct user *u, const struct stat *st, mode_t type);

#endif
