/* SPDX-License-Identifier: MIT */
#include "symbols/jit_ranges.h"

#include <errno.h>

#include "base/search.h"
#include "base/sort.h"

/* While the pieces are made. */
struct cutter {
	const struct jit_range *ranges;
	VEC(uint64_t) starts;
	VEC(struct jit_piece) pieces;
	/* a heap of the ranges that are begun and may not have ended: the latest on top */
	VEC(uint32_t) open;
	uint64_t at;		/* up to here all is made */
};

static void heap_push(struct cutter *c, uint32_t range)
{
	size_t i = c->open.n;

	vec_push(&c->open, range);
	for (; i && c->open.v[(i - 1) / 2] < range; i = (i - 1) / 2)
		c->open.v[i] = c->open.v[(i - 1) / 2];
	c->open.v[i] = range;
}

static void heap_pop(struct cutter *c)
{
	uint32_t last = c->open.v[--c->open.n];
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < c->open.n; i = child) {
		if (child + 1 < c->open.n && c->open.v[child + 1] > c->open.v[child])
			child++;
		if (c->open.v[child] <= last)
			break;
		c->open.v[i] = c->open.v[child];
	}
	c->open.v[i] = last;
}

/* Up to @end all is @range's. What began beneath it may have parted it for nothing. */
static void emit(struct cutter *c, uint32_t range, uint64_t end)
{
	struct jit_piece *last = c->pieces.n ? &c->pieces.v[c->pieces.n - 1] : NULL;

	if (last && last->range == range && c->starts.v[c->starts.n - 1] + last->size == c->at) {
		last->size += (uint32_t)(end - c->at);
	} else {
		vec_push(&c->starts, c->at);
		vec_push(&c->pieces, (struct jit_piece){ (uint32_t)(end - c->at), range });
	}
	c->at = end;
}

/* All pieces before @until. */
static void advance(struct cutter *c, uint64_t until)
{
	while (c->open.n && c->at < until) {
		const struct jit_range *top = &c->ranges[c->open.v[0]];
		uint64_t end = top->start + top->size;

		if (end > c->at)
			emit(c, c->open.v[0], end < until ? end : until);
		if (end <= c->at)
			heap_pop(c);
	}
	c->at = until;
}

/* Drops the ranges that no piece shows any more; the others keep their order. */
static void drop_hidden(struct jit_ranges *r)
{
	uint32_t *place = xcalloc(r->all.n, sizeof(*place)), kept = 0;

	for (size_t i = 0; i < r->n; i++)
		place[r->pieces[i].range] = 1;
	for (size_t i = 0; i < r->all.n; i++) {
		if (!place[i])
			continue;
		place[i] = kept;
		r->all.v[kept++] = r->all.v[i];
	}
	for (size_t i = 0; i < r->n; i++)
		r->pieces[i].range = place[r->pieces[i].range];
	r->all.n = kept;
	free(place);
}

void jit_ranges_cut(struct jit_ranges *r)
{
	struct cutter c = { .ranges = r->all.v };
	size_t n = r->all.n;
	struct sort_key *keys;	/* by their place in the address space; the other is that in time */

	if (!n)
		return;
	keys = xreallocarray(NULL, n, sizeof(*keys));
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){ r->all.v[i].start, (uint32_t)i };
	keys = sort_keys(keys, n);
	vec_reserve(&c.starts, n);
	vec_reserve(&c.pieces, n);
	for (size_t i = 0; i < n; i++) {
		advance(&c, keys[i].key);
		heap_push(&c, keys[i].place);
	}
	advance(&c, UINT64_MAX);
	free(keys);
	vec_free(&c.open);
	free(r->starts);
	free(r->pieces);
	r->n = c.pieces.n;
	r->starts = xreallocarray(c.starts.v, r->n, sizeof(*r->starts));
	r->pieces = xreallocarray(c.pieces.v, r->n, sizeof(*r->pieces));
	drop_hidden(r);
}

int jit_ranges_add(struct jit_ranges *r, uint64_t start, uint64_t size, uint32_t payload)
{
	if (!size || size > UINT32_MAX || size > UINT64_MAX - start)
		return -EINVAL;
	if (r->all.n >= JIT_RANGES_MAX && !r->full) {
		jit_ranges_cut(r);
		/* Where little was hidden, the next cut would soon follow, and the next. */
		r->full = r->all.n > JIT_RANGES_MAX / 2;
	}
	if (r->full)
		return -ENOSPC;
	vec_push(&r->all, (struct jit_range){ start, (uint32_t)size, payload });
	return 0;
}

const struct jit_range *jit_ranges_find(const struct jit_ranges *r, uint64_t address)
{
	size_t low = upper_bound(r->starts, r->n, , address);

	if (!low || address - r->starts[low - 1] >= r->pieces[low - 1].size)
		return NULL;
	return &r->all.v[r->pieces[low - 1].range];
}

void jit_ranges_free(struct jit_ranges *r)
{
	vec_free(&r->all);
	free(r->starts);
	free(r->pieces);
	*r = (struct jit_ranges){ 0 };
}
