/* SPDX-License-Identifier: MIT */
#include "alloc/call_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "alloc/alloc_counter.h"
#include "alloc/alloc_links.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "collect/uprobe.h"
#include "proc/procfs.h"
#include "slices/thread_clocks.h"

#define THREADS_FIRST 256	/* whose CPU time is measured from the start: a descriptor each */
#define THREADS_MAX 400		/* with those that turn out to allocate */
#define PLACES_MAX 64		/* of one link */
#define FIRST_PART 5		/* of the time, after which these are looked for */
#define NO_PART 10		/* of the time: less CPU time than that tells nothing */
#define LOOKS_MOST 20		/* times that time, where a thread has no CPU */

struct thread {
	pid_t tid;
	int clock;			/* thread_clock_open() */
	uint64_t calls[ALLOC_SLOTS];	/* when it was added */
};

struct watch {
	struct alloc_counter counter;
	VEC(int) links;
	VEC(struct thread) threads;
	struct hashmap known;		/* tid -> index */
};

/* One link for the places that lie in one file of one process: from @first on. Returns how many. */
static size_t link_places(const struct call_place *all, size_t first, size_t n,
			  const struct alloc_counter *c, int *link)
{
	uint64_t offsets[PLACES_MAX], cookies[PLACES_MAX], semaphores[PLACES_MAX];
	const struct call_place *at = &all[first];
	struct uprobe_places places = {
		.file = at->file, .pid = at->pid, .offsets = offsets, .cookies = cookies
	};

	for (; places.n < n - first && places.n < PLACES_MAX; places.n++) {
		const struct call_place *next = at + places.n;

		if (next->file != at->file || next->pid != at->pid)
			break;
		offsets[places.n] = next->offset;
		cookies[places.n] = next->slot;
		semaphores[places.n] = next->semaphore;
		if (next->semaphore)
			places.semaphores = semaphores;
	}
	*link = uprobe_link(c->program, &places, 0);
	return places.n;
}

static int set_links(struct watch *w, const struct call_place *places, size_t n)
{
	for (size_t i = 0; i < n;) {
		int link;

		i += link_places(places, i, n, &w->counter, &link);
		if (link >= 0)
			vec_push(&w->links, link);
		else if (link != -ESRCH)
			return link;
	}
	return 0;
}

static int set_events(struct watch *w, const int *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int link = event_link(events[i], w->counter.program, SLOT_END);

		if (link < 0)
			return link;
		vec_push(&w->links, link);
	}
	return 0;
}

static void add_thread(struct watch *w, pid_t tid, size_t most)
{
	struct thread t = { .tid = tid };

	if (w->threads.n >= most || hashmap_get(&w->known, (uint64_t)tid) != HASHMAP_NONE)
		return;
	t.clock = thread_clock_open(tid);
	alloc_counter_get(&w->counter, tid, t.calls);
	hashmap_set(&w->known, (uint64_t)tid, (uint32_t)w->threads.n);
	vec_push(&w->threads, t);
}

static void add_first(void *ctx, pid_t tid)
{
	add_thread(ctx, tid, THREADS_FIRST);
}

static int is_of(const pid_t *pids, size_t n, pid_t tid)
{
	char path[48];

	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)pids[i], (int)tid);
		if (!access(path, F_OK))
			return 1;
	}
	return 0;
}

/* Those that have made calls, and are new or too many; of @pids alone, where there are any. */
static void add_callers(struct watch *w, const pid_t *pids, size_t npids)
{
	pid_t tid = 0;

	while (w->threads.n < THREADS_MAX && alloc_counter_next(&w->counter, &tid))
		if (!npids || is_of(pids, npids, tid))
			add_thread(w, tid, THREADS_MAX);
}

static void wait_for(uint64_t ns)
{
	const struct timespec pause = clock_timespec(ns);

	nanosleep(&pause, NULL);
}

static struct alloc_load sum_up(const struct watch *w, const struct alloc_price *p)
{
	struct alloc_watched *all = xcalloc(w->threads.n + 1, sizeof(*all));
	struct alloc_load load;

	for (size_t i = 0; i < w->threads.n; i++) {
		const struct thread *t = &w->threads.v[i];
		uint64_t cpu;

		if (t->clock < 0 || thread_clock_read(t->clock, &cpu))
			continue;
		all[i].cpu = (double)cpu;
		alloc_counter_get(&w->counter, t->tid, all[i].calls);
		for (int k = 0; k < ALLOC_SLOTS; k++)
			all[i].calls[k] -= t->calls[k];
	}
	load = alloc_load_of(p, all, w->threads.n);
	free(all);
	return load;
}

/* Whether a thread wants a CPU, and has had next to none of it: on a busy machine. */
static int is_starved(const struct watch *w, uint64_t ns)
{
	for (size_t i = 0; i < w->threads.n; i++) {
		const struct thread *t = &w->threads.v[i];
		struct procfs_stat stat;
		uint64_t cpu;

		if (t->clock >= 0 && !thread_clock_read(t->clock, &cpu) && cpu < ns / NO_PART &&
		    !procfs_stat(t->tid, &stat) && stat.state == 'R')
			return 1;
	}
	return 0;
}

/* Where no call was seen, for want of a CPU, it takes longer. */
static void look(struct watch *w, const struct alloc_price *p, const pid_t *only, size_t nonly,
		 uint64_t ns, struct alloc_load *load)
{
	wait_for(ns / FIRST_PART);
	add_callers(w, only, nonly);
	wait_for(ns - ns / FIRST_PART);
	*load = sum_up(w, p);
	for (int i = 1; i < LOOKS_MOST && load->calls + load->ends < 1 && is_starved(w, ns); i++) {
		wait_for(ns);
		*load = sum_up(w, p);
	}
}

static void end(struct watch *w)
{
	while (w->threads.n)
		if (w->threads.v[--w->threads.n].clock >= 0)
			close(w->threads.v[w->threads.n].clock);
	while (w->links.n)
		close(w->links.v[--w->links.n]);
	vec_free(&w->threads);
	vec_free(&w->links);
	hashmap_free(&w->known);
	alloc_counter_close(&w->counter);
}

int call_watch(const struct alloc_price *p, const struct call_place *places, size_t n,
	       const pid_t *pids, size_t npids, uint64_t ns, struct alloc_load *load)
{
	struct watch w = { 0 };
	int err = alloc_counter_open(&w.counter, COUNTER_FUNCTION);

	if (!err)
		err = set_links(&w, places, n);
	for (size_t i = 0; !err && i < npids; i++)
		procfs_each_thread(pids[i], add_first, &w);
	if (!err)
		look(&w, p, NULL, 0, ns, load);
	end(&w);
	return err;
}

int call_watch_events(const struct alloc_price *p, enum alloc_counter_kind kind, const int *events,
		      size_t n, const pid_t *pids, size_t npids, uint64_t ns,
		      struct alloc_load *load)
{
	struct watch w = { 0 };
	int err = alloc_counter_open(&w.counter, kind);

	if (!err)
		err = set_events(&w, events, n);
	for (size_t i = 0; !err && i < npids; i++)
		procfs_each_thread(pids[i], add_first, &w);
	if (!err)
		look(&w, p, pids, npids, ns, load);
	end(&w);
	return err;
}

int call_watch_allocator(const struct alloc_price *p, const struct alloc_probes *probes,
			 uint64_t ns, struct alloc_load *load)
{
	struct call_place *places = xcalloc(probes->nplaces + 1, sizeof(*places));
	pid_t *pids = xcalloc(probes->nplaces + 1, sizeof(*pids));
	size_t npids = 0;
	int err;

	for (size_t i = 0; i < probes->nplaces; i++) {
		const struct alloc_place *from = &probes->places[i];

		places[i] = (struct call_place){
			.file = from->file, .pid = from->pid, .offset = from->offset,
			.slot = (from->stepped ? SLOT_STEPPED : 0u) |
				(from->kind == PROBE_FREE ? SLOT_END : 0u) |
				(from->kind == PROBE_REALLOC ? SLOT_RESIZE : 0u),
		};
		if (!npids || pids[npids - 1] != from->pid)
			pids[npids++] = from->pid;
	}
	err = call_watch(p, places, probes->nplaces, pids, npids, ns, load);
	free(places);
	free(pids);
	return err;
}
