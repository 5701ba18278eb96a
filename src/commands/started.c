/* SPDX-License-Identifier: MIT */
#include "commands/started.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/text.h"
#include "proc/procfs.h"

#define NAME_SHOWN 128		/* bytes of the command's name in a message */
#define PATIENCE 1000000000ull	/* ns for the command to end, before it is said that we wait */
#define PATIENCE_STEP 5		/* ms */

int started_prepare(struct started *s, char **argv, char *const env[], struct error *e)
{
	s->argv = argv;
	return argv ? launch_prepare(&s->launch, argv, env, e) : 0;
}

int started_go(struct started *s, struct loop *l, struct error *e)
{
	int err = s->argv ? launch_go(&s->launch, s->argv[0], e) : 0;

	s->runs = s->argv && !err;
	l->child = s->runs ? s->launch.pid : 0;
	return err;
}

void started_end(struct started *s, struct loop *l)
{
	loop_read_signals(l);
	loop_unblock_signals(l);
	if (s->runs && !l->asked && !l->child_ended) {
		s->stopped = 1;
		kill(s->launch.pid, SIGTERM);
	}
}

/* Waits for the command for a while: 1 where it has ended, and *@status is there. */
static int ends_soon(const struct started *s, int *status)
{
	const uint64_t end = clock_ns() + PATIENCE;
	pid_t got;

	do {
		got = waitpid(s->launch.pid, status, WNOHANG);
		if (!got)
			poll(NULL, 0, PATIENCE_STEP);
	} while (!got && clock_ns() < end);
	return got == s->launch.pid;
}

/* It has been asked to end, by us or by whoever asked us. */
static void show_waiting(const struct started *s, const struct loop *l)
{
	struct procfs_stat st = { 0 };
	char name[NAME_SHOWN];

	text_clean(name, sizeof(name), s->argv[0]);
	fprintf(stderr, "ebprof: waiting for the command %s (PID %d), which ", name, s->launch.pid);
	if (!procfs_stat(s->launch.pid, &st) && (st.state == 'T' || st.state == 't'))
		fprintf(stderr, "is stopped; kill -CONT %d lets it go on and end", s->launch.pid);
	else
		fprintf(stderr, "goes on after SIG%s; kill -KILL %d ends it",
			sigabbrev_np(l->asked ? l->last_signal : SIGTERM), s->launch.pid);
	fputs("; Ctrl-C ends only ebprof\n", stderr);
}

int started_status(const struct started *s, const struct loop *l, int quiet)
{
	int status = 0;

	if (!s->runs)
		return 0;
	if (ends_soon(s, &status))
		return launch_status(status);
	if (!quiet)
		show_waiting(s, l);
	while (waitpid(s->launch.pid, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_ERROR;
	return launch_status(status);
}

void started_cancel(struct started *s)
{
	if (!s->runs)
		launch_cancel(&s->launch);
}
