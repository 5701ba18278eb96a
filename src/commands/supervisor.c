/* SPDX-License-Identifier: MIT */
#include "commands/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/notify.h"
#include "base/say.h"
#include "proc/launch.h"

/* Before the loop of the child, which blocks its signals itself. */
static pid_t start(const struct supervised *s, const sigset_t *blocked)
{
	pid_t parent = getpid(), child = fork();

	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(STATUS_ERROR);
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	exit(s->run(s->ctx));
}

/* Says that the file is read again, when it is valid. 1 where it is. */
static int reload(const struct supervised *s, struct notify *n)
{
	char text[64];

	if (s->check(s->ctx)) {
		say(SAY_WARNING, "not reloaded; the options are those of before");
		return 0;
	}
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)(clock_ns() / 1000));
	notify_send(n, text);
	say(SAY_NOTICE, "reloading");
	return 1;
}

/* Until it has ended. 1 where the next one is to be started; *@status is its exit status. */
static int watch(const struct supervised *s, const sigset_t *set, struct notify *n, pid_t child,
		 int *status)
{
	int again = 0, how, sig;

	for (;;) {
		if (sigwait(set, &sig))
			continue;
		if (sig == SIGCHLD) {
			if (waitpid(child, &how, WNOHANG) != child)
				continue;
			*status = launch_status(how);
			/* What failed at its end was said; it is no reason to stay away. */
			return again;
		}
		if (sig == SIGHUP) {
			if (again || !reload(s, n))
				continue;
			again = 1;
			kill(child, SIGTERM);
			continue;
		}
		again = 0;
		notify_send(n, "STOPPING=1");
		kill(child, SIGTERM);
	}
}

int supervise(const struct supervised *s)
{
	struct notify *n = notify_new();
	int status = STATUS_ERROR;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	do {
		child = start(s, &set);
		if (child < 0) {
			say(SAY_ERROR, "cannot start a process: %s", strerror(errno));
			break;
		}
	} while (watch(s, &set, n, child, &status));
	notify_free(n);
	return status;
}
