/* SPDX-License-Identifier: MIT */
/*
 * For a command that runs until it is told to end, and reads a file of options: SIGHUP has it read
 * the file again. What samples has given up the rights to begin anew, so a process that does
 * nothing else starts it, ends it, and starts the next one.
 */
#ifndef EBPROF_SUPERVISOR_H
#define EBPROF_SUPERVISOR_H

struct supervised {
	/* In a process of its own; what it returns is the process's exit status. */
	int (*run)(void *ctx);
	/* In ours, before one is ended for the next: 0, or it has said why not. */
	int (*check)(void *ctx);
	void *ctx;
};

/*
 * Runs it until it ends by itself, or until SIGINT or SIGTERM, which it is sent, too. Returns its
 * last exit status; 128 and the signal where one ended it. Tells systemd of what is under way.
 */
int supervise(const struct supervised *s);

#endif
