/* SPDX-License-Identifier: MIT */
#include "stat/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/launch.h"

#define MILLISECOND 1000000u

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* --- What a command prints, thrown away. ------------------------------------------- */

/* Ours, while standard output and error are /dev/null; -1: they are as they were. */
struct hidden {
	int out, err;
};

static struct hidden hide(int wanted)
{
	struct hidden h = { -1, -1 };
	int null = wanted ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

	if (null < 0)
		return h;
	h.out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	h.err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (h.out >= 0)
		dup2(null, STDOUT_FILENO);
	if (h.err >= 0)
		dup2(null, STDERR_FILENO);
	close(null);
	return h;
}

static void show(struct hidden h)
{
	if (h.out >= 0) {
		dup2(h.out, STDOUT_FILENO);
		close(h.out);
	}
	if (h.err >= 0) {
		dup2(h.err, STDERR_FILENO);
		close(h.err);
	}
}

/* --- Waiting. ------------------------------------------------------------------------ */

/* ms up to the next time that is of interest; -1: there is none. */
static int patience(uint64_t now, uint64_t until, uint64_t next)
{
	uint64_t end = until < next ? until : next;

	if (end == UINT64_MAX)
		return -1;
	return end <= now ? 0 : (int)((end - now + MILLISECOND - 1) / MILLISECOND);
}

/*
 * Until @ended (a pidfd, -1: none) is readable or @until has come, and, unless @passes (a command
 * has our signals and ends as it likes), until we are asked to end.
 */
static void watch(int ended, uint64_t began, uint64_t until, int passes, struct loop *l,
		  const struct run_ticks *t)
{
	struct pollfd fds[2] = { { .fd = l->signals, .events = POLLIN },
				 { .fd = ended, .events = POLLIN } };
	uint64_t next = t->interval ? began + t->interval : UINT64_MAX, now;

	while ((now = clock_ns()) < until) {
		if (now >= next) {
			t->tick(t->ctx, now - began);
			next += t->interval;
			continue;
		}
		if (poll(fds, 2, patience(now, until, next)) <= 0)
			continue;
		if (fds[0].revents)
			loop_read_signals(l);
		if (fds[1].revents || (l->asked && !passes))
			return;
	}
}

static int pidfd_of(pid_t pid)
{
	return pid ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

/* --- A command. ---------------------------------------------------------------------- */

static int start(struct launch *child, char **argv, int hidden, struct counters *c,
		 struct error *e)
{
	struct hidden h = hide(hidden);
	int err = launch_prepare(child, argv, NULL, e);

	show(h);
	return err ? err : counters_of_command(c, child->pid, e);
}

static int await(struct run *r, const struct launch *child, uint64_t began, struct error *e)
{
	struct rusage usage;
	int status;

	while (wait4(child->pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			return error_set(e, STATUS_ERROR, -errno, "cannot wait for the command: %s",
					 strerror(errno));
	r->elapsed = clock_ns() - began;
	r->user = nanoseconds(usage.ru_utime);
	r->system = nanoseconds(usage.ru_stime);
	r->peak = (uint64_t)usage.ru_maxrss << 10;
	r->status = launch_status(status);
	return 0;
}

int run_command(struct run *r, char **argv, int hidden, struct counters *c, struct loop *l,
		const struct run_ticks *t, struct error *e)
{
	struct launch child = { .go = -1, .words = -1 };
	int err = start(&child, argv, hidden, c, e), ended;
	uint64_t began;

	if (err) {
		launch_cancel(&child);
		return err;
	}
	ended = pidfd_of(child.pid);
	l->child = child.pid;
	began = clock_ns();
	err = launch_go(&child, argv[0], e);
	/* Without a descriptor of its end signals wait for it, too. */
	if (!err && ended >= 0)
		watch(ended, began, UINT64_MAX, 1, l, t);
	if (!err)
		err = await(r, &child, began, e);
	l->child = 0;
	if (ended >= 0)
		close(ended);
	return err;
}

uint64_t run_beside(struct counters *c, pid_t pid, uint64_t duration, struct loop *l,
		    const struct run_ticks *t)
{
	int ended = pidfd_of(pid);
	uint64_t began = clock_ns();

	counters_start(c);
	watch(ended, began, duration ? began + duration : UINT64_MAX, 0, l, t);
	counters_stop(c);
	if (ended >= 0)
		close(ended);
	return clock_ns() - began;
}
