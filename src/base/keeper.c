/* SPDX-License-Identifier: MIT */
#include "base/keeper.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/io.h"
#include "base/xalloc.h"

#define BYTES_MAX (128u << 20)	/* of one request */
#define FAILURES_MAX 3		/* of read() or write(), for one part of a request or its answer */

struct keeper {
	pid_t pid;
	int fd;			/* -1: it is gone */
};

struct request {
	uint64_t job;
	uint64_t size;		/* bytes that follow */
};

/*
 * All of it: 0, or -ECHILD where nobody is there. What fails has taken nothing: what was done must
 * not be told as failed.
 */
static int receive(int fd, void *to, size_t size)
{
	int failures = 0;
	char *p = to;

	while (size) {
		ssize_t n = io_read(fd, p, size);

		if (n < 0 && failures++ < FAILURES_MAX)
			continue;
		if (n <= 0)
			return -ECHILD;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The same the other way: half a request would make the next one its other half. */
static int transmit(int fd, const void *from, size_t size)
{
	int failures = 0;
	const char *p = from;

	while (size) {
		ssize_t n = io_write(fd, p, size);

		if (n < 0 && failures++ < FAILURES_MAX)
			continue;
		if (n < 0)
			return -ECHILD;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* One request; not 0 where there are no more. */
static int serve(int fd, const struct keeper_job *jobs, size_t n)
{
	struct request r;
	int32_t answer = -ENOMEM;
	void *bytes;

	if (receive(fd, &r, sizeof(r)) || r.job >= n || !jobs[r.job].work || r.size > BYTES_MAX)
		return -1;
	bytes = malloc(r.size + 1);
	if (!bytes || receive(fd, bytes, r.size)) {
		free(bytes);
		return -1;
	}
	answer = jobs[r.job].work(jobs[r.job].ctx, bytes, r.size);
	free(bytes);
	return transmit(fd, &answer, sizeof(answer));
}

static __attribute__((noreturn)) void keep(int fd, const struct keeper_job *jobs, size_t n)
{
	caps_limit(CAPS_TO_WRITE | CAPS_TO_BECOME_USER);
	for (size_t i = 0; i < n; i++)
		if (jobs[i].begin)
			jobs[i].begin(jobs[i].ctx);
	while (!serve(fd, jobs, n))
		;
	for (size_t i = 0; i < n; i++)
		if (jobs[i].end)
			jobs[i].end(jobs[i].ctx);
	_exit(0);
}

struct keeper *keeper_new(const struct keeper_job *jobs, size_t n)
{
	struct keeper *k;
	int ends[2], err;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return NULL;
	pid = child_fork();
	err = errno;
	if (!pid) {
		close(ends[0]);
		keep(ends[1], jobs, n);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		errno = err;
		return NULL;
	}
	k = xcalloc(1, sizeof(*k));
	*k = (struct keeper){ .pid = pid, .fd = ends[0] };
	return k;
}

int keeper_do(struct keeper *k, size_t job, const void *bytes, size_t size)
{
	const struct request r = { .job = job, .size = size };
	int32_t answer = 0;
	int err = transmit(k->fd, &r, sizeof(r));

	if (!err)
		err = transmit(k->fd, bytes, size);
	if (!err)
		err = receive(k->fd, &answer, sizeof(answer));
	/* It may wait for the rest of a request that never comes. */
	if (err && k->fd >= 0) {
		close(k->fd);
		k->fd = -1;
	}
	return err ? err : answer;
}

pid_t keeper_pid(const struct keeper *k)
{
	return k->pid;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		close(k->fd);
	child_wait(k->pid);
	free(k);
}
