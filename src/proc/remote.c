/* SPDX-License-Identifier: MIT */
#include "proc/remote.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/xalloc.h"

#define MS		1000000u
#define SECOND		(1000 * MS)
#define PAGE		4096u	/* the smallest there is */
/* ns that one answer may take; a page comes from a disk in 10 ms */
#define ANSWER_MAX	(100 * MS)
/* ns of an answer that nothing held up; what takes longer is summed up, */
#define USUAL		(1 * MS)
#define HELD_MAX	SECOND		/* ns: to so much in all */
#define READERS		(HELD_MAX / ANSWER_MAX)	/* each can be given up once */

/* A thread of that process, and what it is asked. */
struct reader {
	remote_fn *fn;
	sem_t asked, answered;
	pid_t pid;
	size_t n, size;
	struct iovec places[REMOTE_PLACES];
	char bytes[REMOTE_BYTES];
};

struct shared {
	sem_t wanted;		/* one more reader, or the end */
	int over;
	struct reader readers[READERS];
};

struct remote {
	struct shared *shared;
	pid_t pid;
	int started;			/* the reader that is asked next is there */
	size_t lost;			/* readers that were given up */
	pid_t silent[READERS];		/* what each of them waits for */
	uint64_t held;			/* ns that slow answers took */
};

/* With the priority of who waits for it (session/priority.h), where it may. */
static void *answer(void *arg)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct reader *r = arg;

	sched_setscheduler(0, SCHED_FIFO, &first);
	for (;;) {
		struct iovec local = { r->bytes, REMOTE_BYTES };
		ssize_t n;

		child_turn(&r->asked);
		n = r->fn(r->pid, &local, 1, r->places, r->n, 0);
		r->size = n > 0 ? (size_t)n : 0;
		sem_post(&r->answered);
	}
	return NULL;
}

/*
 * It has no descriptors (child.h), so a process that may stay holds nothing of ours open: neither a
 * pipe that is read to its end, nor what samples.
 */
static void serve(void *shared)
{
	struct shared *s = shared;
	pthread_t thread;

	caps_limit(CAPS_TO_READ_MEMORY);
	for (struct reader *r = s->readers; child_turn(&s->wanted), !s->over; r++)
		pthread_create(&thread, NULL, answer, r);
}

static void start_reader(struct remote *r)
{
	sem_post(&r->shared->wanted);
	r->started = 1;
}

struct remote *remote_new(remote_fn *fn)
{
	struct shared *s = child_memory(sizeof(*s));
	struct remote *r;
	pid_t pid;

	if (!s)
		return NULL;
	sem_init(&s->wanted, 1, 0);
	for (size_t i = 0; i < READERS; i++) {
		s->readers[i].fn = fn;
		sem_init(&s->readers[i].asked, 1, 0);
		sem_init(&s->readers[i].answered, 1, 0);
	}
	pid = child_serve(serve, s, sizeof(*s));
	if (pid < 0)
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->shared = s;
	r->pid = pid;
	/* Now: while a program starts beside us, a thread of usual priority is long in coming. */
	start_reader(r);
	return r;
}

void remote_free(struct remote *r)
{
	if (!r)
		return;
	r->shared->over = 1;
	sem_post(&r->shared->wanted);
	/* A reader that is stuck keeps its process from ending. */
	if (!r->lost)
		child_wait(r->pid);
	munmap(r->shared, sizeof(*r->shared));
	free(r);
}

pid_t remote_pid(const struct remote *r)
{
	return r->pid;
}

static int may_ask(const struct remote *r, pid_t pid)
{
	for (size_t i = 0; i < r->lost; i++)
		if (r->silent[i] == pid)
			return 0;
	return r->held < HELD_MAX;
}

/* 0 where the answer is there in time. */
static int wait_for_answer(struct remote *r, sem_t *answered)
{
	uint64_t begin = clock_ns(), took;
	int err = child_turn_until(answered, begin + ANSWER_MAX);

	/* We may have been stopped, and it came meanwhile. */
	if (err)
		err = sem_trywait(answered);
	took = clock_ns() - begin;
	took = err || took > ANSWER_MAX ? ANSWER_MAX : took;
	r->held += took > USUAL ? took : 0;
	return err;
}

size_t remote_read(struct remote *r, pid_t pid, const struct iovec *places, size_t n, void *to)
{
	struct reader *reader;

	if (!r || !may_ask(r, pid))
		return 0;
	reader = &r->shared->readers[r->lost];
	if (!r->started)
		start_reader(r);
	reader->pid = pid;
	reader->n = n;
	memcpy(reader->places, places, n * sizeof(*places));
	sem_post(&reader->asked);
	if (wait_for_answer(r, &reader->answered)) {
		r->silent[r->lost++] = pid;
		r->started = 0;
		return 0;
	}
	memcpy(to, reader->bytes, reader->size);
	return reader->size;
}

int remote_place(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct iovec place = { (void *)(uintptr_t)address, size };

	return remote_read(ctx, pid, &place, 1, to) == size ? 0 : -EFAULT;
}

_Static_assert(REMOTE_BYTES / PAGE + 1 <= REMOTE_PLACES, "pages of one question");

size_t remote_pages(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	struct iovec pages[REMOTE_PLACES];
	size_t n = 0, some;

	size = size < REMOTE_BYTES ? size : REMOTE_BYTES;
	for (; size; n++, address += some, size -= some) {
		some = PAGE - (address & (PAGE - 1));
		some = some < size ? some : size;
		pages[n] = (struct iovec){ (void *)(uintptr_t)address, some };
	}
	return remote_read(ctx, pid, pages, n, to);
}
