/* SPDX-License-Identifier: MIT */
#include "tui/nest.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"

#define NONE UINT32_MAX
/* what stands deeper, or in a ring of PIDs that were used again, has no parent */
#define DEPTH_MOST 256

struct nest {
	const struct row *rows;
	uint64_t *totals;
	/* by row; @order: rows, the greatest total first */
	uint32_t *parent, *order, *first, *next;
};

/* How deep a row would stand; DEPTH_MOST: too deep. */
static uint32_t depth_of(const struct nest *t, uint32_t row)
{
	uint32_t depth = 0;

	for (; t->parent[row] != NONE && depth < DEPTH_MOST; row = t->parent[row])
		depth++;
	return depth;
}

static void find_parents(const struct nest *t, const struct rollup_process *all, uint32_t n)
{
	/* by PID; the first of several programs in one process has most */
	struct hashmap rows = { 0 };

	for (uint32_t i = 0; i < n; i++)
		if (all[i].pid > 0)
			hashmap_put(&rows, (uint64_t)all[i].pid, i);
	for (uint32_t i = 0; i < n; i++) {
		t->parent[i] = all[i].parent > 0 ? hashmap_get(&rows, (uint64_t)all[i].parent)
						 : HASHMAP_NONE;
		if (t->parent[i] == HASHMAP_NONE || t->parent[i] == i)
			t->parent[i] = NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		if (depth_of(t, i) == DEPTH_MOST)
			t->parent[i] = NONE;
	hashmap_free(&rows);
}

static int by_total(const void *a, const void *b, void *ctx)
{
	const struct nest *t = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->totals[x] != t->totals[y])
		return t->totals[x] < t->totals[y] ? 1 : -1;
	return x < y ? -1 : x > y;
}

static void put(const struct nest *t, row_vec *out, uint32_t row, uint32_t depth)
{
	struct row r = t->rows[row];

	r.depth = depth;
	r.total = t->totals[row];
	vec_push(out, r);
	for (uint32_t child = t->first[row]; child != NONE; child = t->next[child])
		put(t, out, child, depth + 1);
}

void nest_tasks(row_vec *rows, const struct rollup_process *all)
{
	uint32_t n = (uint32_t)rows->n;
	struct nest t = {
		.rows = rows->v,
		.totals = xcalloc(n + 1, sizeof(*t.totals)),
		.parent = xcalloc(n + 1, sizeof(*t.parent)),
		.order = xcalloc(n + 1, sizeof(*t.order)),
		.first = xcalloc(n + 1, sizeof(*t.first)),
		.next = xcalloc(n + 1, sizeof(*t.next)),
	};
	row_vec nested = { 0 };

	find_parents(&t, all, n);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t at = i; at != NONE; at = t.parent[at])
			t.totals[at] += rows->v[i].self;
		t.order[i] = i;
		t.first[i] = t.next[i] = NONE;
	}
	qsort_r(t.order, n, sizeof(*t.order), by_total, &t);
	/* From the least on, so that the greatest is the first of its siblings. */
	for (uint32_t i = n; i-- > 0;) {
		uint32_t row = t.order[i], parent = t.parent[row];

		if (parent != NONE) {
			t.next[row] = t.first[parent];
			t.first[parent] = row;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (t.parent[t.order[i]] == NONE)
			put(&t, &nested, t.order[i], 0);
	vec_free(rows);
	*rows = nested;
	free(t.totals);
	free(t.parent);
	free(t.order);
	free(t.first);
	free(t.next);
}
