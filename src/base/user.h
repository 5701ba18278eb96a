/* SPDX-License-Identifier: MIT */
/*
 * Who called us: under sudo, files and the profiled command belong to the
 * invoking user (SUDO_UID, SUDO_GID), not to root.
 */
#ifndef EBPROF_USER_H
#define EBPROF_USER_H

#include <sys/types.h>

#define USER_GROUPS_MAX 64	/* supplementary groups that are kept; the rest give no access */

struct user {
	int switched;		/* 1: we are root on behalf of uid/gid below */
	uid_t uid;
	gid_t gid;
	int n_groups, n_own_groups;
	gid_t groups[USER_GROUPS_MAX];		/* the user's, @gid among them */
	gid_t own_groups[USER_GROUPS_MAX];	/* ours, for user_leave() */
};

/* From the environment; only where we really run as root, and to a user that is not root. */
struct user user_invoking(void);

/*
 * Becomes @u for access to files (setfsuid, setfsgid, setgroups; this thread
 * only), and back: in between no capability lets us past a file's permissions.
 * user_enter() returns 0 or a negative errno; user_leave() cannot fail for a
 * process that could enter. Both do nothing where !u->switched. Needs
 * CAP_SETUID and CAP_SETGID.
 */
int user_enter(const struct user *u);
void user_leave(const struct user *u);

/*
 * Where @u lives, in a malloc'd text; who we are ourselves, where !u->switched. NULL where it is
 * not known.
 */
char *user_home(const struct user *u);

/*
 * Makes HOME, USER, LOGNAME and SHELL those of @u, as a login would: sudo left root's there. What
 * is not known of @u is unset. Before user_become(), in the same place; does nothing where
 * !u->switched.
 */
void user_environment(const struct user *u);

/*
 * For good, with supplementary groups and all ids; only between fork and exec. 0 or a negative
 * errno.
 */
int user_become(const struct user *u);

#endif
