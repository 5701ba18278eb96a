/* SPDX-License-Identifier: MIT */
/*
 * Who called us: under sudo, files and the profiled command belong to the
 * invoking user (SUDO_UID, SUDO_GID), not to root.
 */
#ifndef EBPROF_USER_H
#define EBPROF_USER_H

#include <sys/types.h>

struct user {
	int switched;		/* 1: we are root on behalf of uid/gid below */
	uid_t uid;
	gid_t gid;
};

/* From the environment; only where we really run as root, and to a user that is not root. */
struct user user_invoking(void);

/*
 * Becomes @u for access to files (setfsuid, setfsgid, setgroups), and back.
 * user_enter() returns 0 or a negative errno; user_leave() cannot fail for a
 * process that could enter. Both do nothing where !u->switched.
 */
int user_enter(const struct user *u);
void user_leave(const struct user *u);

/* For good, with supplementary groups and all ids; only between fork and exec. 0 or a negative errno. */
int user_become(const struct user *u);

#endif
