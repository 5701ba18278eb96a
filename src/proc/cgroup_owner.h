/* SPDX-License-Identifier: MIT */
/* Whose a process is, by the names of its cgroup and those above it. */
#ifndef EBPROF_CGROUP_OWNER_H
#define EBPROF_CGROUP_OWNER_H

#include <stddef.h>
#include <sys/types.h>

#define CGROUP_OWNER 256	/* bytes of a name (NAME_MAX), with its end */

/* Kinds of cgroups, as bits; one may be of several. */
enum cgroup_kind {
	CGROUP_CONTAINER = 1,	/* its name is the container's whole id */
	CGROUP_SERVICE = 2,	/* a systemd unit, of the machine or of a user */
	CGROUP_SCOPE = 4,	/* the same, of what others have started */
};

struct cgroup_owner {
	enum cgroup_kind kind;
	char name[CGROUP_OWNER];	/* as it stands there: any bytes but "/" and a newline */
};

/*
 * The nearest one of @kinds in @text, that of /proc/PID/cgroup: what lies deeper is nearer, and the
 * first hierarchy that has one counts. 1, or 0 where there is none.
 */
int cgroup_owner(const char *text, unsigned int kinds, struct cgroup_owner *out);
/* The same of a process; negative where it is gone. */
int cgroup_owner_of(pid_t pid, unsigned int kinds, struct cgroup_owner *out);
/*
 * The path of @text, without a newline: that of the unified hierarchy, or where that is the root
 * the first of another one that is not. "" where there is none; what does not fit in @size is left
 * out.
 */
void cgroup_path(const char *text, char *path, size_t size);
#define CGROUP_TEXT 8192	/* bytes of /proc/PID/cgroup that are looked at, with the end */
/* Of a process, its first bytes; negative where it is gone. */
int cgroup_text(pid_t pid, char text[CGROUP_TEXT]);

#endif
