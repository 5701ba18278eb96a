/* SPDX-License-Identifier: MIT */
#include "collect/crew.h"

#include <errno.h>
#include <stdlib.h>

#include "base/thread.h"
#include "base/vec.h"

#define THREADS 8

struct crew {
	pthread_t threads[THREADS];
	size_t n;
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	VEC(struct job { void (*work)(void *, size_t); void *ctx; size_t number; }) jobs;
	size_t busy;
	int ending;
};

static void *work_off(void *arg)
{
	struct crew *c = arg;

	pthread_mutex_lock(&c->lock);
	while (c->jobs.n || !c->ending) {
		struct job job;

		if (!c->jobs.n) {
			pthread_cond_wait(&c->more, &c->lock);
			continue;
		}
		job = c->jobs.v[--c->jobs.n];
		c->busy++;
		pthread_mutex_unlock(&c->lock);
		job.work(job.ctx, job.number);
		pthread_mutex_lock(&c->lock);
		if (!--c->busy && !c->jobs.n)
			pthread_cond_broadcast(&c->less);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct crew *crew_new(void)
{
	struct crew *c = xcalloc(1, sizeof(*c));
	int err = 0;

	thread_lock_init(&c->lock);
	pthread_cond_init(&c->more, NULL);
	pthread_cond_init(&c->less, NULL);
	while (c->n < THREADS && !(err = thread_start(&c->threads[c->n], work_off, c)))
		c->n++;
	if (c->n)
		return c;
	crew_free(c);
	errno = -err;
	return NULL;
}

void crew_give(struct crew *c, void (*work)(void *ctx, size_t number), void *ctx, size_t number)
{
	pthread_mutex_lock(&c->lock);
	vec_push(&c->jobs, (struct job){ work, ctx, number });
	pthread_cond_signal(&c->more);
	pthread_mutex_unlock(&c->lock);
}

void crew_wait(struct crew *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->jobs.n || c->busy)
		pthread_cond_wait(&c->less, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

void crew_free(struct crew *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->ending = 1;
	pthread_cond_broadcast(&c->more);
	pthread_mutex_unlock(&c->lock);
	while (c->n)
		pthread_join(c->threads[--c->n], NULL);
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->more);
	pthread_cond_destroy(&c->less);
	vec_free(&c->jobs);
	free(c);
}
