/* SPDX-License-Identifier: MIT */
#include "loop/loop.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "loop/signals.h"

int loop_watch_signals(struct loop *l, int child)
{
	struct sigaction quiet_stops = { .sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (child) {
		sigaction(SIGCHLD, &quiet_stops, NULL);
		sigaddset(&set, SIGCHLD);
	}
	l->signals = signals_watch(&set);
	return l->signals < 0 ? l->signals : 0;
}

/* Until @until, or until a descriptor is readable. 1 where that is the one of the signals. */
static int sleep_until(const struct loop *l, const struct loop_consumer *consumers, size_t n,
		       uint64_t until)
{
	struct pollfd fds[1 + LOOP_CONSUMERS * LOOP_FDS];
	uint64_t now = clock_ns(), left = until > now ? until - now : 0;
	const struct timespec t = clock_timespec(left);
	size_t count = 1;

	fds[0] = (struct pollfd){ .fd = l->signals, .events = POLLIN };
	for (size_t i = 0; i < n; i++)
		if (consumers[i].fds)
			count += consumers[i].fds(consumers[i].ctx, fds + count);
	/* Where it fails nothing is readable. */
	if (ppoll(fds, count, &t, NULL) < 0)
		return 0;
	return fds[0].revents != 0;
}

enum loop_end loop_run(const struct loop *l, const struct loop_consumer *consumers, size_t n,
		       uint64_t until)
{
	int asked = 0;

	for (;;) {
		uint64_t now = clock_ns(), next = until;
		int done = 0;

		for (size_t i = 0; i < n; i++) {
			uint64_t own = consumers[i].turn(consumers[i].ctx, now);

			done |= own == LOOP_DONE;
			next = own < next ? own : next;
		}
		if (asked)
			return LOOP_ASKED;
		if (now >= until)
			return LOOP_TIME_UP;
		if (done)
			return LOOP_CONSUMER_DONE;
		asked = sleep_until(l, consumers, n, next);
	}
}

void loop_read_signals(struct loop *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD) {
			l->child_ended |= l->child && (pid_t)info.ssi_pid == l->child;
			continue;
		}
		l->last_signal = (int)info.ssi_signo;
		l->asked++;
		if (l->child && info.ssi_code == SI_USER)
			kill(l->child, l->last_signal);
	}
}

void loop_unblock_signals(const struct loop *l)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (l->asked > 1)
		raise(l->last_signal);
}

void loop_close(struct loop *l)
{
	if (l->signals >= 0)
		close(l->signals);
	l->signals = -1;
}
