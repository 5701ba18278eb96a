/* SPDX-License-Identifier: MIT */
#include "slices/thread_clocks.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "collect/perf_events.h"

#define FEW 128			/* events, */
#define MOST 384		/* with those of threads that matter: a descriptor each */

struct clock {
	pid_t tid;
	uint64_t start, before;	/* CPU time when it was opened */
	int fd, asked;
};

struct thread_clocks {
	VEC(struct clock) v;
	struct hashmap index;	/* tid -> index */
};

int thread_clock_open(pid_t tid)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_TASK_CLOCK };

	return perf_event_open(&attr, tid, -1);
}

int thread_clock_read(int fd, uint64_t *ns)
{
	return read(fd, ns, sizeof(*ns)) == sizeof(*ns) ? 0 : -EIO;
}

struct thread_clocks *thread_clocks_new(void)
{
	return xcalloc(1, sizeof(struct thread_clocks));
}

void thread_clocks_free(struct thread_clocks *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->v.n; i++)
		close(c->v.v[i].fd);
	vec_free(&c->v);
	hashmap_free(&c->index);
	free(c);
}

static void drop(struct thread_clocks *c, size_t i)
{
	close(c->v.v[i].fd);
	hashmap_del(&c->index, (uint64_t)c->v.v[i].tid);
	c->v.v[i] = c->v.v[--c->v.n];
	if (i < c->v.n)
		hashmap_set(&c->index, (uint64_t)c->v.v[i].tid, (uint32_t)i);
}

uint64_t thread_clocks_get(struct thread_clocks *c, pid_t tid, uint64_t start, uint64_t cpu,
			   int matters)
{
	uint32_t i = hashmap_get(&c->index, (uint64_t)tid);
	struct clock clock = { .tid = tid, .start = start, .before = cpu, .asked = 1 };
	uint64_t ns;

	if (i != HASHMAP_NONE && c->v.v[i].start != start) {
		drop(c, i);
		i = HASHMAP_NONE;
	}
	if (i == HASHMAP_NONE) {
		clock.fd = c->v.n < (matters ? MOST : FEW) ? thread_clock_open(tid) : -EMFILE;
		if (clock.fd >= 0) {
			hashmap_set(&c->index, (uint64_t)tid, (uint32_t)c->v.n);
			vec_push(&c->v, clock);
		}
		return cpu;
	}
	c->v.v[i].asked = 1;
	return thread_clock_read(c->v.v[i].fd, &ns) ? cpu : c->v.v[i].before + ns;
}

void thread_clocks_sweep(struct thread_clocks *c)
{
	for (size_t i = c->v.n; i-- > 0;)
		if (!c->v.v[i].asked)
			drop(c, i);
		else
			c->v.v[i].asked = 0;
}
