/* SPDX-License-Identifier: MIT */
#include "collect/grace.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/xalloc.h"

/* What the thread is told, and tells, as counts of an eventfd. */
enum { SAY_BEGIN = 1, SAY_STOP = 1 << 16 };
enum { SAY_OVER = 1, SAY_FAILED = 1 << 16 };

struct grace {
	int outer, inner;
	int begin, over;	/* eventfds: to the thread, and from it */
	pthread_t thread;
};

static void *wait_for_programs(void *arg)
{
	struct grace *g = arg;
	uint32_t first = 0;
	eventfd_t said;

	while (!eventfd_read(g->begin, &said) && said < SAY_STOP)
		eventfd_write(g->over, bpf_map_update_elem(g->outer, &first, &g->inner, BPF_ANY)
					       ? SAY_FAILED
					       : SAY_OVER);
	return NULL;
}

struct grace *grace_new(int outer, int inner)
{
	struct grace *g = xcalloc(1, sizeof(*g));
	int err;

	g->outer = outer;
	g->inner = inner;
	g->begin = eventfd(0, EFD_CLOEXEC);
	g->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = g->begin < 0 || g->over < 0 ? errno : -thread_start(&g->thread, wait_for_programs, g);
	if (!err)
		return g;
	if (g->begin >= 0)
		close(g->begin);
	if (g->over >= 0)
		close(g->over);
	free(g);
	errno = err;
	return NULL;
}

void grace_free(struct grace *g)
{
	if (!g)
		return;
	eventfd_write(g->begin, SAY_STOP);
	pthread_join(g->thread, NULL);
	close(g->begin);
	close(g->over);
	free(g);
}

void grace_begin(struct grace *g)
{
	eventfd_write(g->begin, SAY_BEGIN);
}

int grace_fd(const struct grace *g)
{
	return g->over;
}

int grace_end(struct grace *g, int wait)
{
	struct pollfd p = { .fd = g->over, .events = POLLIN };
	eventfd_t said;

	while (wait && poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	if (eventfd_read(g->over, &said))
		return 0;
	return said >= SAY_FAILED ? -1 : 1;
}
