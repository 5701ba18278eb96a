/* SPDX-License-Identifier: MIT */
#include "loop/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"

/* ns in which one that comes again was meant once: timeout(1) tells us, and then our group */
#define ONCE 200000000u

struct watch {
	int from, to;
};

/*
 * Ended by the signal's default action, which needs no other thread of ours to run. A shell may
 * have us ignore it.
 */
static void end_by(int sig)
{
	sigset_t set;

	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	raise(sig);
}

static void *watch(void *arg)
{
	struct watch *w = arg;
	struct signalfd_siginfo info;
	uint64_t since = 0;
	uint32_t first = 0;

	while (read(w->from, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD && first) {
			if (info.ssi_signo != first || clock_ns() - since > ONCE)
				end_by((int)info.ssi_signo);
			continue;
		}
		if (info.ssi_signo != SIGCHLD) {
			first = info.ssi_signo;
			since = clock_ns();
		}
		if (write(w->to, &info, sizeof(info)) < 0)
			break;
	}
	close(w->from);
	close(w->to);
	free(w);
	return NULL;
}

int signals_watch(const sigset_t *set)
{
	int ends[2], from, err;
	struct watch *w;
	pthread_t thread;

	sigprocmask(SIG_BLOCK, set, NULL);
	from = signalfd(-1, set, SFD_CLOEXEC);
	if (from < 0)
		return -errno;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
		err = -errno;
		close(from);
		return err;
	}
	w = xcalloc(1, sizeof(*w));
	*w = (struct watch){ from, ends[1] };
	err = thread_start(&thread, watch, w);
	if (!err)
		return ends[0];
	free(w);
	close(from);
	close(ends[0]);
	close(ends[1]);
	return err;
}
