/* SPDX-License-Identifier: MIT */
#include "unwind/table/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/vdso.h"
#include "unwind/table/build.h"
#include "unwind/table/queue.h"

struct unwind_builder {
	unsigned most;
	int event;
	VEC(pthread_t) threads;		/* the owner's alone */
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t work;
	struct unwind_queue queue;
	VEC(struct unwind_built) built;
	unsigned idle;			/* threads that wait for work */
	int stop;
};

struct unwind_builder *unwind_builder_new(unsigned threads)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct unwind_builder *b;

	if (event < 0)
		return NULL;
	b = xcalloc(1, sizeof(*b));
	b->most = threads ? threads : 1;
	b->event = event;
	/*
	 * The owner may run at a real-time priority: a builder that it waits for has to run as
	 * well.
	 */
	thread_lock_init(&b->lock);
	pthread_cond_init(&b->work, NULL);
	return b;
}

void unwind_builder_free(struct unwind_builder *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->stop = 1;
	pthread_cond_broadcast(&b->work);
	pthread_mutex_unlock(&b->lock);
	for (size_t i = 0; i < b->threads.n; i++)
		pthread_join(b->threads.v[i], NULL);
	for (size_t i = 0; i < b->built.n; i++)
		if (!b->built.v[i].err)
			unwind_table_free(&b->built.v[i].table);
	vec_free(&b->built);
	unwind_queue_free(&b->queue);
	vec_free(&b->threads);
	pthread_cond_destroy(&b->work);
	pthread_mutex_destroy(&b->lock);
	close(b->event);
	free(b);
}

/* The table of @elf; the debug file is looked for only where the file itself tells nothing. */
static int build_file(const struct elf_file *elf, struct unwind_table *out)
{
	/*
	 * In our own root alone: what lies in the target's is the target's to choose, and unwinds
	 * others' stacks too.
	 */
	static const struct debug_places places = { .root_owned = 1 };
	int err = unwind_table_build(elf, NULL, out), fd;
	struct elf_file *debug;
	struct unwind_table more;

	if (err || !(out->flags & EBP_OBJECT_NO_CFI))
		return err;
	fd = debug_file_open(&places, elf, NULL, &debug);
	if (fd < 0)
		return 0;
	if (!unwind_table_build(elf, debug, &more)) {
		unwind_table_free(out);
		*out = more;
	}
	elf_file_free(debug);
	close(fd);
	return 0;
}

static int build(const struct unwind_job *job, struct unwind_table *out)
{
	void *memory = NULL;
	struct elf_file *elf;
	size_t size;
	int err;

	if (job->fd == UNWIND_FD_VDSO) {
		memory = vdso_copy(&size);
		if (!memory)
			return -errno;
		elf = elf_file_open_memory(memory, size);
	} else {
		elf = elf_file_open(job->fd);
	}
	err = elf ? build_file(elf, out) : -errno;
	elf_file_free(elf);
	free(memory);
	return err;
}

/* Builds without the lock, and hands over with it. */
static void run_job(struct unwind_builder *b, const struct unwind_job *job)
{
	struct unwind_built done = { .id = job->id };
	uint64_t begin = clock_ns();

	done.err = build(job, &done.table);
	done.ns = clock_ns() - begin;
	pthread_mutex_lock(&b->lock);
	vec_push(&b->built, done);
	pthread_mutex_unlock(&b->lock);
	/* The owner that it wakes wants the lock at once. */
	eventfd_write(b->event, 1);
}

static void *work(void *arg)
{
	struct unwind_builder *b = arg;
	struct unwind_job job;

	pthread_mutex_lock(&b->lock);
	while (!b->stop) {
		if (!b->queue.jobs.n) {
			b->idle++;
			pthread_cond_wait(&b->work, &b->lock);
			b->idle--;
			continue;
		}
		job = unwind_queue_take(&b->queue);
		pthread_mutex_unlock(&b->lock);
		run_job(b, &job);
		pthread_mutex_lock(&b->lock);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void start_thread(struct unwind_builder *b)
{
	pthread_t thread;

	if (!thread_start(&thread, work, b))
		vec_push(&b->threads, thread);
}

void unwind_builder_add(struct unwind_builder *b, uint32_t id, int fd, uint64_t size)
{
	struct unwind_job job;
	int busy;

	pthread_mutex_lock(&b->lock);
	unwind_queue_add(&b->queue, id, fd, size);
	busy = b->queue.jobs.n > b->idle;
	pthread_cond_signal(&b->work);
	pthread_mutex_unlock(&b->lock);
	if (busy && b->threads.n < b->most)
		start_thread(b);
	if (b->threads.n)
		return;
	/* No thread can be had, so nobody else is in the queue: we do it ourselves. */
	job = unwind_queue_take(&b->queue);
	run_job(b, &job);
}

void unwind_builder_want(struct unwind_builder *b, uint32_t id)
{
	pthread_mutex_lock(&b->lock);
	unwind_queue_want(&b->queue, id);
	pthread_mutex_unlock(&b->lock);
}

int unwind_builder_fd(const struct unwind_builder *b)
{
	return b->event;
}

int unwind_builder_take(struct unwind_builder *b, struct unwind_built *out)
{
	eventfd_t unused;
	int got;

	pthread_mutex_lock(&b->lock);
	got = b->built.n > 0;
	if (got)
		*out = b->built.v[--b->built.n];
	else
		eventfd_read(b->event, &unused);
	pthread_mutex_unlock(&b->lock);
	return got;
}
