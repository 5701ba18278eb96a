/* SPDX-License-Identifier: MIT */
#include "collect/closer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/vec.h"

struct closer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	VEC(int) fds;
	int ending;
};

static void *work(void *arg)
{
	struct closer *c = arg;

	pthread_mutex_lock(&c->lock);
	while (c->fds.n || !c->ending) {
		int fd;

		if (!c->fds.n) {
			pthread_cond_wait(&c->more, &c->lock);
			continue;
		}
		fd = c->fds.v[--c->fds.n];
		pthread_mutex_unlock(&c->lock);
		close(fd);
		pthread_mutex_lock(&c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct closer *closer_new(void)
{
	struct closer *c = xcalloc(1, sizeof(*c));
	int err;

	thread_lock_init(&c->lock);
	pthread_cond_init(&c->more, NULL);
	err = -thread_start(&c->thread, work, c);
	if (!err)
		return c;
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->more);
	free(c);
	errno = err;
	return NULL;
}

void closer_close(struct closer *c, int fd)
{
	pthread_mutex_lock(&c->lock);
	vec_push(&c->fds, fd);
	pthread_cond_signal(&c->more);
	pthread_mutex_unlock(&c->lock);
}

void closer_free(struct closer *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->ending = 1;
	pthread_cond_signal(&c->more);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->more);
	vec_free(&c->fds);
	free(c);
}
