/* SPDX-License-Identifier: MIT */
/*
 * A sorted array and a short unsorted tail of the newest: a process that maps
 * 50,000 files one by one must not move the array 50,000 times.
 */
#include "proc/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "elf/image.h"

#define TAIL_MAX	128
/*
 * Entries of a process; twice what vm.max_map_count allows at one moment. Half go, oldest first,
 * beyond it.
 */
#define MAPPINGS_MAX	131072
/* Older mappings kept of one place, for samples that are not drained yet. */
#define HISTORY_MAX	8
/* How far back around an older mapping newer ones are looked for. */
#define LOOK_BACK	64
/*
 * The same for a question: one huge mapping around 100,000 small ones must not make each question
 * slow.
 */
#define WALK_MAX	4096

struct entry {
	struct mapping map;
	/* the greatest end of this and all before it; REACH_NEW until it is settled */
	uint64_t reach;
};

#define REACH_NEW	0

struct mappings {
	VEC(struct entry) v;	/* [0, sorted) by start; then the tail, in the order of arrival */
	size_t sorted;
	unsigned int refs;
};

struct mappings *mappings_ref(struct mappings *m)
{
	if (m)
		m->refs++;
	return m;
}

void mappings_unref(struct mappings *m)
{
	if (!m || --m->refs)
		return;
	vec_free(&m->v);
	free(m);
}

size_t mappings_count(const struct mappings *m)
{
	return m ? m->v.n : 0;
}

/* Makes *@m one that may be changed. */
static struct mappings *own(struct mappings **m)
{
	struct mappings *old = *m, *new;

	if (old && old->refs == 1)
		return old;
	new = xcalloc(1, sizeof(*new));
	new->refs = 1;
	if (old) {
		vec_reserve(&new->v, old->v.n);
		memcpy(new->v.v, old->v.v, old->v.n * sizeof(*old->v.v));
		new->v.n = old->v.n;
		new->sorted = old->sorted;
		mappings_unref(old);
	}
	*m = new;
	return new;
}

/* Equal addresses in both mean the same byte of the same file, or both are anonymous. */
static int same_content(const struct mapping *a, const struct mapping *b)
{
	return a->image == b->image &&
	       (a->image == IMAGE_NONE || a->start - a->offset == b->start - b->offset);
}

static int covers(const struct mapping *outer, const struct mapping *inner)
{
	return outer->start <= inner->start && outer->end >= inner->end;
}

/* Whether @a answers a question about @time better than @b, both overlapping the place. */
static int answers_better(const struct mapping *a, const struct mapping *b, uint64_t time)
{
	if (!b)
		return 1;
	if (a->from <= time)
		return b->from > time || a->from > b->from;
	return b->from > time && a->from < b->from;
}

/* By start; what covers another comes before it, the newer of equal ranges too. */
static int by_place(const void *a, const void *b)
{
	const struct mapping *x = &((const struct entry *)a)->map,
			     *y = &((const struct entry *)b)->map;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->from > y->from ? -1 : x->from < y->from;
}

/* How many of the @n entries come before @new, or are its equals. */
static size_t before(const struct entry *v, size_t n, const struct entry *new)
{
	size_t low = 0;

	while (low < n) {
		size_t mid = low + (n - low) / 2;

		if (by_place(&v[mid], new) <= 0)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/*
 * The number of sorted entries that start below @address: no other of those that start there would
 * come before @first.
 */
static size_t starting_below(const struct mappings *m, uint64_t address)
{
	const struct entry first = {
		.map = { .start = address, .end = UINT64_MAX, .from = UINT64_MAX }
	};

	return before(m->v.v, m->sorted, &first);
}

/* Of all that overlap [start, end) the latest not after @time, else the earliest. */
static const struct mapping *overlapping(const struct mappings *m, uint64_t start, uint64_t end,
					 uint64_t time)
{
	const struct mapping *best = NULL;
	size_t i, below;

	/* Backwards, so that of two with one time the later arrival counts. */
	for (i = m->v.n; i-- > m->sorted; ) {
		const struct mapping *e = &m->v.v[i].map;

		if (e->start < end && e->end > start && answers_better(e, best, time))
			best = e;
	}
	below = starting_below(m, end);
	for (i = below; i-- > 0 && m->v.v[i].reach > start && below - i < WALK_MAX; ) {
		const struct mapping *e = &m->v.v[i].map;

		if (e->end > start && answers_better(e, best, time))
			best = e;
	}
	return best;
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address, uint64_t time)
{
	return m && address != UINT64_MAX ? overlapping(m, address, address + 1, time) : NULL;
}

void mappings_mark(const struct mappings *m, unsigned char *images)
{
	for (size_t i = 0; m && i < m->v.n; i++)
		if (m->v.v[i].map.image != IMAGE_NONE)
			images[m->v.v[i].map.image] = 1;
}

struct ranked {
	const struct mapping *map;
	uint64_t rank;
	size_t at;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

void mappings_each(const struct mappings *m, uint64_t time,
		   void (*fn)(void *ctx, const struct mapping *m), void *ctx)
{
	struct ranked *all;

	if (!m || !m->v.n)
		return;
	all = xreallocarray(NULL, m->v.n, sizeof(*all));
	for (size_t i = 0; i < m->v.n; i++) {
		const struct mapping *e = &m->v.v[i].map;

		/*
		 * What is there already, the latest last; before it what comes later, the earliest
		 * last.
		 */
		all[i] = (struct ranked){
			e, e->from <= time ? 1ull << 63 | e->from : (1ull << 63) - e->from, i
		};
	}
	qsort(all, m->v.n, sizeof(*all), by_rank);
	for (size_t i = 0; i < m->v.n; i++)
		fn(ctx, all[i].map);
	free(all);
}

static int newest_first(const void *a, const void *b)
{
	const struct mapping *x = &((const struct entry *)a)->map,
			     *y = &((const struct entry *)b)->map;

	return x->from > y->from ? -1 : x->from < y->from;
}

/*
 * Moves the tail to its places, last first, and only what lies above them. Returns the lowest
 * place.
 */
static size_t merge_tail(struct mappings *m)
{
	size_t at = m->sorted, left = m->v.n - m->sorted;
	struct entry *v = m->v.v, *tail = xreallocarray(NULL, left, sizeof(*tail));

	memcpy(tail, v + at, left * sizeof(*tail));
	qsort(tail, left, sizeof(*tail), by_place);
	for (; left; left--) {
		size_t end = at;

		at = before(v, end, &tail[left - 1]);
		memmove(v + at + left, v + at, (end - at) * sizeof(*v));
		v[at + left - 1] = tail[left - 1];
	}
	free(tail);
	return at;
}

/* Keeps the newer half, in which each is new. */
static void halve(struct mappings *m)
{
	qsort(m->v.v, m->v.n, sizeof(*m->v.v), newest_first);
	m->v.n = MAPPINGS_MAX / 2;
	qsort(m->v.v, m->v.n, sizeof(*m->v.v), by_place);
	for (size_t i = 0; i < m->v.n; i++)
		m->v.v[i].reach = REACH_NEW;
}

/*
 * Whether the mapping @i says nothing any more: too many newer ones cover it,
 * or the next newer one says the same (mappings_find() also looks back in time).
 */
static int is_spent(const struct entry *v, size_t i)
{
	const struct mapping *me = &v[i].map, *next = NULL;
	int newer = 0;

	for (size_t back = 1; back <= i && back <= LOOK_BACK && v[i - back].reach >= me->end;
	     back++) {
		const struct mapping *e = &v[i - back].map;

		if (e->from < me->from || !covers(e, me))
			continue;
		newer++;
		if (!next || e->from < next->from)
			next = e;
	}
	return newer > HISTORY_MAX || (next && same_content(next, me));
}

static void set_reach(struct entry *v, size_t i)
{
	v[i].reach = i && v[i - 1].reach > v[i].map.end ? v[i - 1].reach : v[i].map.end;
}

/* Sorts the tail in, and drops what is spent: only what is new or begins within it can be. */
static void settle(struct mappings *m)
{
	size_t kept = merge_tail(m);
	uint64_t new_end = 0;

	if (m->v.n > MAPPINGS_MAX) {
		halve(m);
		kept = 0;
	}
	for (size_t i = kept; i < m->v.n; i++) {
		const struct entry e = m->v.v[i];

		if (e.reach == REACH_NEW && e.map.end > new_end)
			new_end = e.map.end;
		m->v.v[kept] = e;
		set_reach(m->v.v, kept);
		kept += e.map.start >= new_end || !is_spent(m->v.v, kept);
	}
	m->v.n = m->sorted = kept;
}

static void push(struct mappings *m, const struct mapping *new)
{
	vec_push(&m->v, (struct entry){ .map = *new });
}

/* Whether the newest that is known there says what @new says. */
static int is_known(const struct mappings *m, const struct mapping *new)
{
	const struct mapping *newest = m ? overlapping(m, new->start, new->end, UINT64_MAX) : NULL;

	return newest && same_content(newest, new) && covers(newest, new);
}

void mappings_add(struct mappings **m, const struct mapping *new)
{
	if (new->end <= new->start || is_known(*m, new))
		return;
	push(own(m), new);
	if ((*m)->v.n - (*m)->sorted > TAIL_MAX)
		settle(*m);
}

void mappings_add_snapshot(struct mappings **m, struct mapping *list, size_t n, uint64_t now)
{
	const struct mappings *old = *m;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_known(old, &list[i]))
			continue;
		list[i].from = old && overlapping(old, list[i].start, list[i].end, UINT64_MAX) ? now
											       : 0;
		list[kept++] = list[i];
	}
	if (!kept)
		return;
	own(m);
	for (size_t i = 0; i < kept; i++)
		push(*m, &list[i]);
	settle(*m);
}

void mappings_add_inherited(struct mappings **m, const struct mappings *parent, uint64_t time)
{
	struct mappings *mine;

	if (!parent || parent == *m)
		return;
	mine = own(m);
	for (size_t i = 0; i < parent->v.n; i++)
		if (parent->v.v[i].map.from <= time)
			push(mine, &parent->v.v[i].map);
	settle(mine);
}
