/* SPDX-License-Identifier: MIT */
/*
 * The file system that says which tracepoints there are (Documentation/trace/ftrace.rst). Where
 * nobody has mounted it, it is mounted for us alone: nowhere, so that no other process sees it, and
 * it goes with its descriptor, whatever ends us (fsmount(2), Linux 5.2).
 */
#ifndef EBPROF_TRACEFS_H
#define EBPROF_TRACEFS_H

#include <limits.h>

struct tracefs {
	/* its folder of that name; "": there is none */
	char events[PATH_MAX + sizeof("/events")];
	int fd;			/* -1: it is mounted where anybody may look */
};

/* To be called while privileged: mounting needs CAP_SYS_ADMIN. */
void tracefs_open(struct tracefs *t);
/* @t->events, or NULL where there is none. */
const char *tracefs_events(const struct tracefs *t);
void tracefs_close(struct tracefs *t);

#endif
