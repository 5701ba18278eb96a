/* SPDX-License-Identifier: MIT */
#include "tui/viewer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/xalloc.h"
#include "tui/live.h"
#include "tui/plain.h"

#define EARLY 20000000ull	/* ns that an update may come before its time, and count */

struct viewer {
	const struct viewer_options *o;
	struct live *live;
	int wake;			/* eventfd: the user wants to end */
	int stop;			/* eventfd: we are told to end */
	atomic_int ended;
	pthread_t thread;
};

/* Says so to who samples. */
static void end(struct viewer *v)
{
	const uint64_t one = 1;

	atomic_store(&v->ended, 1);
	(void)!write(v->wake, &one, sizeof(one));
}

/* A table each refresh, until there were enough or nobody reads them. */
static void *show_plain(void *arg)
{
	struct viewer *v = arg;
	struct pollfd p[] = { { .fd = live_fd(v->live), .events = POLLIN }, { .fd = v->stop, .events = POLLIN } };
	uint64_t next = clock_ns() + v->o->refresh, n = 0;
	int last = 0, done = 0;

	while (!done && !last) {
		uint64_t least = next;

		poll(p, 2, -1);
		last = p[1].revents != 0;
		live_clear(v->live);
		/* What came since the last table is one more where it is half of one, or the only one. */
		if (last)
			least = n ? next - v->o->refresh / 2 : 0;
		if (clock_ns() + EARLY < least)
			continue;
		next += v->o->refresh;
		done = plain_write(v->live, v->o) || ++n == v->o->tables;
	}
	end(v);
	return NULL;
}

struct viewer *viewer_new(const struct viewer_options *o, struct error *e)
{
	struct viewer *v = xcalloc(1, sizeof(*v));
	int err;

	v->o = o;
	v->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	v->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	v->live = live_new(o->window);
	err = v->wake < 0 || v->stop < 0 || !v->live ? -EMFILE : thread_start(&v->thread, show_plain, v);
	if (!err)
		return v;
	error_set(e, STATUS_ERROR, err, "cannot show: %s", strerror(-err));
	live_free(v->live);
	free(v);
	return NULL;
}

void viewer_free(struct viewer *v)
{
	const uint64_t one = 1;

	if (!v)
		return;
	(void)!write(v->stop, &one, sizeof(one));
	pthread_join(v->thread, NULL);
	live_free(v->live);
	close(v->wake);
	close(v->stop);
	free(v);
}

void viewer_update(void *viewer, const struct profile *p)
{
	live_update(((struct viewer *)viewer)->live, p);
}

int viewer_ended(void *viewer)
{
	return atomic_load(&((struct viewer *)viewer)->ended);
}

int viewer_wake(const struct viewer *v)
{
	return v->wake;
}
