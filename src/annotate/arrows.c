/* SPDX-License-Identifier: MIT */
/*
 * Arrows of jumps, each in a column of its own beside the rows that it passes: those to one place
 * are one arrow, and shorter ones are nearer to the text.
 *
 *	/---- je  1160
 *	| />  mov ...
 *	| \-- jne ...
 *	\--> ret
 *
 * One that leads too far, or for which there is no column left, says only in which way: ^ or v.
 */
#include <stdlib.h>
#include <string.h>

#include "annotate/internal.h"

#define LANES 10
#define REACH 1000		/* rows that an arrow passes at most: longer ones are not drawn */

struct arrow {
	uint32_t to, low, high;		/* rows */
	int lane;			/* from the text outward; -1: not drawn */
};

typedef VEC(struct arrow) arrow_vec;

static int by_target(const void *a, const void *b)
{
	const struct arrow *x = a, *y = b;

	return (x->to > y->to) - (x->to < y->to);
}

static int by_length(const void *a, const void *b)
{
	const struct arrow *x = a, *y = b;
	uint32_t m = x->high - x->low, n = y->high - y->low;

	return m != n ? (m > n) - (m < n) : (x->low > y->low) - (x->low < y->low);
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* One for each place that is jumped to. */
static arrow_vec collect(const struct annotation *out, size_t first)
{
	arrow_vec all = { 0 };
	size_t n = 0;

	for (uint32_t i = (uint32_t)first; i < out->rows.n; i++) {
		uint32_t to = out->rows.v[i].target;

		if (to && most(i, to) - least(i, to) <= REACH)
			vec_push(&all, (struct arrow){ to, least(i, to), most(i, to), -1 });
	}
	if (all.n)
		qsort(all.v, all.n, sizeof(*all.v), by_target);
	for (size_t i = 0; i < all.n; i++) {
		struct arrow *last = n ? &all.v[n - 1] : NULL;

		if (!last || last->to != all.v[i].to) {
			all.v[n++] = all.v[i];
			continue;
		}
		last->low = least(last->low, all.v[i].low);
		last->high = most(last->high, all.v[i].high);
	}
	all.n = n;
	return all;
}

/* Returns how many lanes are used. */
static int choose_lanes(arrow_vec *all, size_t rows)
{
	uint16_t *used = xcalloc(rows, sizeof(*used));	/* bits, by row */
	int lanes = 0;

	if (all->n)
		qsort(all->v, all->n, sizeof(*all->v), by_length);
	for (size_t i = 0; i < all->n; i++) {
		struct arrow *arrow = &all->v[i];
		uint16_t taken = 0;
		int lane = 0;

		for (uint32_t r = arrow->low; r <= arrow->high && taken != (1u << LANES) - 1; r++)
			taken |= used[r];
		while (lane < LANES && taken & (1u << lane))
			lane++;
		if (lane == LANES)
			continue;
		arrow->lane = lane;
		lanes = lane >= lanes ? lane + 1 : lanes;
		for (uint32_t r = arrow->low; r <= arrow->high; r++)
			used[r] |= (uint16_t)(1u << lane);
	}
	free(used);
	return lanes;
}

/* From column @x on to the text, below what stands there already. */
static void draw_end(char *text, size_t x, size_t width, int is_target)
{
	for (size_t i = x + 1; i + 1 < width; i++)
		if (text[i] == ' ' || i == width - 2)
			text[i] = is_target && i == width - 2 ? '>' : '-';
}

static void draw(struct annotation *out, const struct arrow *arrow, size_t width)
{
	size_t x = width - 3 - (size_t)arrow->lane;

	for (uint32_t r = arrow->low; r <= arrow->high; r++) {
		struct annotation_row *row = &out->rows.v[r];
		int ends = r == arrow->to || row->target == arrow->to;

		row->arrows[x] = '|';
		if (!ends)
			continue;
		row->arrows[x] = r == arrow->low ? '/' : r == arrow->high ? '\\' : '+';
		draw_end(row->arrows, x, width, r == arrow->to);
	}
}

static int has_jumps(const struct annotation *out, size_t first)
{
	while (first < out->rows.n && !out->rows.v[first].target)
		first++;
	return first < out->rows.n;
}

void annotate_arrows(struct annotation *out, size_t first)
{
	arrow_vec all = collect(out, first);
	size_t width = (size_t)choose_lanes(&all, out->rows.n) + 2;
	int any = has_jumps(out, first);

	for (size_t i = first; any && i < out->rows.n; i++) {
		struct annotation_row *r = &out->rows.v[i];

		if (r->kind != ANNOTATION_INSTRUCTION && r->kind != ANNOTATION_ORIGIN)
			continue;
		r->arrows = xmalloc(width + 1);
		memset(r->arrows, ' ', width);
		r->arrows[width] = '\0';
		if (r->target)
			r->arrows[width - 2] = r->target < i ? '^' : 'v';
	}
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].lane >= 0)
			draw(out, &all.v[i], width);
	vec_free(&all);
}
