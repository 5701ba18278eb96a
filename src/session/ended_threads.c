/* SPDX-License-Identifier: MIT */
#include "session/ended_threads.h"

#include <stdlib.h>

#include "base/hashmap.h"
#include "base/xalloc.h"
#include "proc/procfs.h"

#define MANY 64		/* threads of a process in the profile that are worth a look */

static void take_living(void *ctx, pid_t tid)
{
	hashmap_set(ctx, (uint64_t)tid, 0);
}

/* By process, 1 where it lives and all its threads are in @living now; NULL: none. */
static unsigned char *find_living(const struct profile_view *v, struct hashmap *living)
{
	uint32_t *threads = xcalloc(v->nprocesses + 1, sizeof(*threads));
	unsigned char *found = xcalloc(v->nprocesses + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < v->nthreads; i++)
		threads[v->threads[i].process]++;
	for (size_t i = 0; i < v->nprocesses; i++) {
		found[i] = threads[i] >= MANY && v->processes[i].pid &&
			   !procfs_each_thread(v->processes[i].pid, take_living, living);
		n += found[i];
	}
	free(threads);
	if (n)
		return found;
	free(found);
	return NULL;
}

static size_t rows_of(const struct profile_view *v, const uint32_t *same, size_t nthreads)
{
	size_t n = nthreads;

	for (size_t i = 0; i < v->nsamples; i++)
		n += same[v->samples[i].thread] != v->samples[i].thread;
	return n;
}

uint32_t *ended_threads(const struct profile *p, size_t *nthreads, size_t *nrows)
{
	struct profile_view v = profile_view(p);
	struct hashmap living = { 0 }, firsts = { 0 };
	unsigned char *found = find_living(&v, &living);
	uint32_t *same = found ? xcalloc(v.nthreads, sizeof(*same)) : NULL;

	*nthreads = 0;
	for (uint32_t i = 0; same && i < v.nthreads; i++) {
		const struct thread *t = &v.threads[i];

		same[i] = i;
		if (!found[t->process] || !t->tid ||
		    hashmap_get(&living, (uint64_t)t->tid) != HASHMAP_NONE)
			continue;
		same[i] = hashmap_put(&firsts, (uint64_t)t->process << 32 | t->comm, i);
		*nthreads += same[i] != i;
	}
	*nrows = same ? rows_of(&v, same, *nthreads) : 0;
	hashmap_free(&living);
	hashmap_free(&firsts);
	free(found);
	return same;
}
