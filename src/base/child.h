/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that gets no signals, unless it takes them again: it ends with its owner, or
 * becomes another program.
 */
#ifndef EBPROF_CHILD_H
#define EBPROF_CHILD_H

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* As fork(2). */
static inline pid_t child_fork(void)
{
	sigset_t all, before;
	pid_t pid;
	int err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	err = errno;
	if (pid)
		sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return pid;
}

#endif
