/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_links.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"
#include "collect/crew.h"
#include "collect/uprobe.h"

/* at one time: each makes each trap of the others a little slower */
#define MAPPED_MAX 1024

/* Returns first: what begins after them is followed to its end. */
static const struct { enum alloc_group group; int at_return; } parts[] = {
	{ ALLOC_ENDS, 1 }, { ALLOC_CALLS, 1 }, { ALLOC_ALL_CALLS, 1 },
	{ ALLOC_ENDS, 0 }, { ALLOC_CALLS, 0 }, { ALLOC_ALL_CALLS, 0 },
};

#define ALL (ALLOC_CALLS | ALLOC_ENDS | ALLOC_ALL_CALLS)
#define PARTS (sizeof(parts) / sizeof(*parts))

/* A file in a process: places that lie next to one another. */
struct mapped {
	pid_t pid;
	size_t first, n;	/* places */
	int links[PARTS];	/* -1: none */
	int err;		/* of setting them */
};

struct alloc_links {
	const struct alloc_probes *probes;
	int call, returned;
	int list;		/* a link of an iterator; -1: none */
	struct alloc_switches on;
	unsigned int attached;	/* groups */
	VEC(struct mapped) mapped;
	struct crew *crew;
};

static void close_one(void *ctx, size_t link)
{
	(void)ctx;
	close((int)link);
}

void alloc_probes_close(struct alloc_probes *p)
{
	struct crew *crew;
	size_t open = 0;

	for (size_t i = 0; i < p->n; i++)
		open += p->v[i].fd >= 0;
	crew = open > 1 ? crew_new() : NULL;
	for (size_t i = 0; i < p->n; i++) {
		if (crew && p->v[i].fd >= 0)
			crew_give(crew, close_one, NULL, (size_t)p->v[i].fd);
		else if (p->v[i].fd >= 0)
			close(p->v[i].fd);
		p->v[i].fd = -1;
	}
	crew_free(crew);
}

/* How many places from @first on, 1 at least, lie in the same file of the same process. */
static size_t places_alike(const struct alloc_probes *p, size_t first)
{
	const struct alloc_place *at = &p->places[first];
	size_t n = 1;

	while (first + n < p->nplaces && at[n].file == at->file && at[n].pid == at->pid)
		n++;
	return n;
}

static void add(struct alloc_links *l, pid_t pid, size_t first, size_t n)
{
	struct mapped m = { .pid = pid, .first = first, .n = n };

	for (size_t i = 0; i < PARTS; i++)
		m.links[i] = -1;
	vec_push(&l->mapped, m);
}

struct alloc_links *alloc_links_new(const struct alloc_probes *p, int call, int returned, int list,
				    const struct alloc_switches *on)
{
	struct alloc_links *l = xcalloc(1, sizeof(*l));

	l->crew = crew_new();
	if (!l->crew) {
		free(l);
		return NULL;
	}
	l->probes = p;
	l->call = call;
	l->returned = returned;
	l->list = p->paused ? bpf_link_create(list, 0, BPF_TRACE_ITER, NULL) : -1;
	l->on = *on;
	for (size_t first = 0, n; first < p->nplaces; first += n) {
		n = places_alike(p, first);
		add(l, p->places[first].pid, first, n);
	}
	return l;
}

/* Is done when the crew has. */
static void close_links(const struct alloc_links *l, struct mapped *m, unsigned int groups)
{
	for (size_t i = 0; i < PARTS; i++)
		if (groups & parts[i].group && m->links[i] >= 0) {
			crew_give(l->crew, close_one, NULL, (size_t)m->links[i]);
			m->links[i] = -1;
		}
}

static int is_in(enum alloc_group group, enum alloc_probe_kind kind)
{
	if (kind == PROBE_FREE)
		return group == ALLOC_ENDS;
	return group == ALLOC_ALL_CALLS || (kind == PROBE_REALLOC) == (group == ALLOC_ENDS);
}

static int link_part(const struct alloc_links *l, struct mapped *m, size_t part)
{
	uint64_t offsets[ALLOC_PLACES_MAX], cookies[ALLOC_PLACES_MAX];
	struct uprobe_places places = { .pid = m->pid, .offsets = offsets, .cookies = cookies };
	int link;

	for (size_t i = m->first; i < m->first + m->n && places.n < ALLOC_PLACES_MAX; i++) {
		const struct alloc_place *p = &l->probes->places[i];

		if (!is_in(parts[part].group, p->kind) ||
		    (parts[part].at_return && p->kind == PROBE_FREE))
			continue;
		places.file = p->file;
		offsets[places.n] = p->offset;
		cookies[places.n++] = p->kind;
	}
	if (!places.n)
		return 0;
	link = uprobe_link(parts[part].at_return ? l->returned : l->call, &places,
			   parts[part].at_return);
	if (link < 0)
		return link == -ESRCH ? 0 : link;
	m->links[part] = link;
	return 0;
}

static int attach(const struct alloc_links *l, struct mapped *m, unsigned int groups)
{
	int err = 0;

	for (size_t i = 0; i < PARTS && !err; i++)
		if (groups & parts[i].group && m->links[i] < 0)
			err = link_part(l, m, i);
	return err;
}

static void attach_one(void *ctx, size_t i)
{
	struct alloc_links *l = ctx;

	l->mapped.v[i].err = attach(l, &l->mapped.v[i], l->attached);
}

static int attach_all(struct alloc_links *l, unsigned int groups)
{
	int err = 0;

	l->attached |= groups;
	for (size_t i = 0; i < l->mapped.n; i++)
		crew_give(l->crew, attach_one, l, i);
	crew_wait(l->crew);
	for (size_t i = 0; i < l->mapped.n && !err; i++)
		err = l->mapped.v[i].err;
	return err;
}

static void detach_all(struct alloc_links *l, unsigned int groups)
{
	l->attached &= ~groups;
	for (size_t i = 0; i < l->mapped.n; i++)
		close_links(l, &l->mapped.v[i], groups);
	crew_wait(l->crew);
}

static enum alloc_group call_group(const struct alloc_links *l)
{
	return *l->on.endless ? ALLOC_ALL_CALLS : ALLOC_CALLS;
}

int alloc_links_begin(struct alloc_links *l)
{
	*l->on.paused = (uint32_t)l->probes->paused;
	*l->on.endless = (uint32_t)l->probes->endless;
	return attach_all(l, (l->probes->paused ? 0u : call_group(l)) |
				     (l->probes->endless ? 0u : ALLOC_ENDS));
}

void alloc_links_end(struct alloc_links *l)
{
	detach_all(l, ALL);
}

int alloc_links_resume(struct alloc_links *l)
{
	int err = attach_all(l, call_group(l));

	++*l->on.window;
	__atomic_store_n(l->on.paused, 0, __ATOMIC_RELEASE);
	return err;
}

int alloc_links_threads(const struct alloc_links *l, thread_list_entry *fn, void *ctx)
{
	return l->list < 0 ? -ENOENT : thread_list_read(l->list, fn, ctx);
}

void alloc_links_pause(struct alloc_links *l)
{
	__atomic_store_n(l->on.paused, 1, __ATOMIC_RELEASE);
	detach_all(l, call_group(l));
}

void alloc_links_give_up_ends(struct alloc_links *l)
{
	alloc_links_pause(l);
	*l->on.endless = 1;
	detach_all(l, ALLOC_ENDS);
}

void alloc_links_free(struct alloc_links *l)
{
	if (!l)
		return;
	alloc_links_end(l);
	if (l->list >= 0)
		close(l->list);
	crew_free(l->crew);
	vec_free(&l->mapped);
	free(l);
}

void alloc_links_fork(struct alloc_links *l, pid_t pid, pid_t parent)
{
	size_t n = l ? l->mapped.n : 0;

	for (size_t i = 0; i < n && l->mapped.n < MAPPED_MAX; i++)
		if (l->mapped.v[i].pid == parent) {
			add(l, pid, l->mapped.v[i].first, l->mapped.v[i].n);
			attach(l, &l->mapped.v[l->mapped.n - 1], l->attached);
		}
}

void alloc_links_exit(struct alloc_links *l, pid_t pid)
{
	for (size_t i = l ? l->mapped.n : 0; i-- > 0;) {
		struct mapped *m = &l->mapped.v[i];

		if (m->pid != pid)
			continue;
		close_links(l, m, ALL);
		*m = l->mapped.v[--l->mapped.n];
	}
}
