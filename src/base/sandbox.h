/* SPDX-License-Identifier: MIT */
/*
 * From here on no foreign file that we read can make us do what we never do: a
 * filter of system calls (seccomp(2)) for this process and all its threads.
 *
 * A list of what a recording calls; all else is answered with ENOSYS, as an old
 * kernel would: the C library then takes another way, where one exists, and
 * a call that was forgotten in the list costs what it was for, not the recording. But it is
 * counted. No program is started and no other process written to, nothing is opened for writing,
 * made, renamed or removed, no socket made, no BPF program loaded, no memory made executable.
 */
#ifndef EBPROF_SANDBOX_H
#define EBPROF_SANDBOX_H

#include <sys/types.h>

#include "base/refusals.h"

struct sandbox_options {
	struct refusals *refusals;	/* told of each call that is refused; NULL: nobody is */
	pid_t command;		/* may be sent signals; 0: none */
	int becomes_user;	/* user_enter() goes on working */
	int network;		/* files may be fetched and kept: debuginfod; what is sent */
	int sends;		/* it measures nothing: no BPF, no events, no memory of others */
	int server;		/* whoever connects may be answered */
	int answers;		/* a socket that may be read from, with descriptors; 0: none */
	int clock;		/* of our own CPU time may be set: for one that demangles */
	/* who looks may give it keys, and have files made, or replaced, as himself */
	int terminal;
};

/*
 * For good, also for threads and processes that are made later; sets no_new_privs.
 * 0 or a negative errno, where the kernel has no such filters: then nothing is changed.
 */
int sandbox_enter(const struct sandbox_options *o);
/* Whether that would be possible: 0 or a negative errno. Not for use inside. */
int sandbox_check(void);
/* 1 once sandbox_enter() has succeeded in this process. */
int sandbox_is_entered(void);

#endif
