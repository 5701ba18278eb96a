/* SPDX-License-Identifier: MIT */
/*
 * Starts the command behind `--`, stopped before its exec until sampling runs.
 *
 * Under sudo it runs as the invoking user (base/user.h): groups, gid and uid
 * are set between fork and exec, and no capability is left; HOME, USER, LOGNAME and SHELL
 * are that user's. Signal mask and
 * dispositions are the default ones, as a shell would give.
 */
#ifndef EBPROF_LAUNCH_H
#define EBPROF_LAUNCH_H

#include <sys/types.h>

#include "base/error.h"

/* What the child says before it waits, and once more where it cannot become the command. */
struct launch_word {
	int err;		/* a positive errno; 0: so far all is well */
	int as_user;		/* 1: in becoming the user; 0: in exec */
	int self_contained;	/* the command is (proc/self_contained.h) */
};

struct launch {
	pid_t pid;
	int go;			/* write end: closing it without a byte ends the child */
	int words;		/* read end: its words, or end of file */
	int heard;		/* the first one was read: */
	struct launch_word word;
};

/*
 * Forks; the child waits. @env: "NAME=VALUE" texts for its environment, the last NULL; or NULL. 0
 * or a negative errno.
 */
int launch_prepare(struct launch *l, char *const argv[], char *const env[], struct error *e);
/*
 * Whether the command starts no other program, as far as its file tells (proc/self_contained.h).
 * Waits until the child has looked.
 */
int launch_self_contained(struct launch *l);
/*
 * Lets the child exec, and waits for that. A failed exec fills @e with status
 * 127 (ENOENT) or 126 and the reason, and reaps the child.
 */
int launch_go(struct launch *l, const char *name, struct error *e);
/* 1 where @name is a path, or a program in $PATH. */
int launch_finds(const char *name);
/* Ends a child that was never let go, and reaps it. Safe on a zeroed struct. */
void launch_cancel(struct launch *l);
/* Exit status as a shell tells it: the command's own, or 128 + n for a signal. */
int launch_status(int wait_status);

#endif
