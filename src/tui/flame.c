/* SPDX-License-Identifier: MIT */
#include "tui/flame.h"

#include <stdio.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/label.h"
#include "output/views.h"
#include "tui/paint.h"

#define DEPTH_MOST 1024		/* a stack has at most 511 frames, and what was inlined */

/* The row that is zoomed into: rows.n where it is none. */
static size_t find_zoom(const struct browser *b)
{
	uint64_t key = b->places[VIEW_FLAME].zoom;
	size_t i = 0;

	while (i < b->rows.n && (!key || b->rows.v[i].key != key))
		i++;
	return i;
}

/* What is zoomed into: a row, those below it, and those above. */
struct zoom {
	size_t row, end;		/* rows.n where all is shown */
	uint32_t depth;
	size_t above[DEPTH_MOST];	/* by depth, as far as that of @row */
};

static struct zoom zoom_of(const struct browser *b)
{
	struct zoom z = { .row = find_zoom(b) };

	z.end = z.row;
	if (z.row == b->rows.n)
		return z;
	z.depth = b->rows.v[z.row].depth < DEPTH_MOST ? b->rows.v[z.row].depth : DEPTH_MOST;
	for (size_t i = z.row, depth = z.depth; i-- > 0 && depth;)
		if (b->rows.v[i].depth < depth)
			z.above[--depth] = i;
	while (++z.end < b->rows.n && b->rows.v[z.end].depth > z.depth)
		;
	return z;
}

flame_box_vec flame_boxes(const struct browser *b, int columns)
{
	/* where the next row of each depth begins, in samples */
	uint64_t next[DEPTH_MOST + 1] = { 0 };
	uint64_t from = 0, all = profile_view(b->show.profile).total;
	const struct zoom z = zoom_of(b);
	flame_box_vec boxes = { 0 };

	for (size_t i = 0; i < b->rows.n; i++) {
		const struct row *r = &b->rows.v[i];
		uint64_t begin;
		int x, end;

		if (r->depth >= DEPTH_MOST)
			continue;
		begin = next[r->depth];
		next[r->depth] += r->total;
		next[r->depth + 1] = begin;
		if (i == z.row) {
			from = begin;
			all = r->total;
		} else if (i < z.row && r->depth < z.depth && z.above[r->depth] == i) {
			vec_push(&boxes, (struct flame_box){ (uint32_t)i, r->depth, 0, columns });
			continue;
		} else if (z.row < b->rows.n && (i < z.row || i >= z.end)) {
			continue;
		}
		x = (int)((double)(begin - from) * columns / (double)all);
		end = (int)((double)(begin - from + r->total) * columns / (double)all);
		if (end > x)
			vec_push(&boxes, (struct flame_box){ (uint32_t)i, r->depth, x, end - x });
	}
	return boxes;
}

/* Neighbours differ, and a function has its colour wherever it is; the kernel's are of one kind. */
static enum style box_style(const struct row *r)
{
	if (frame_kinds[r->kind].side != FRAME_PROGRAM || !r->depth)
		return frame_is_kernel(r->kind) ? STYLE_FLAME : STYLE_FLAME + 1;
	return STYLE_FLAME + 2 + (enum style)(r->key % (STYLE_FLAMES - 2));
}

static void paint_box(const struct browser *b, struct page *page, const struct flame_box *box,
		      int y)
{
	const struct row *r = &b->rows.v[box->row];
	enum style style = b->places[VIEW_FLAME].at == box->row ? STYLE_SELECTED
			   : browser_pattern_matches(&b->search, r) ||
					   browser_pattern_matches(&b->filter, r)
				   ? STYLE_MATCH
				   : box_style(r);
	/* Boxes can be told apart where there are no colours. */
	static const char edge[] = "▏";
	char text[1024];

	memcpy(text, edge, sizeof(edge));
	label_fit(text + sizeof(edge) - 1, sizeof(text) - sizeof(edge), r->name,
		  box->width > 2 ? (size_t)box->width - 1 : 0);
	page_put(page, y, box->x, box->width, style, 1, text);
}

void flame_paint(struct browser *b, struct page *page)
{
	struct browser_place *place = browser_place(b);
	const struct row *r = browser_selected(b);
	uint64_t all = profile_view(b->show.profile).total;
	flame_box_vec boxes = flame_boxes(b, page->columns);
	int rows = b->layout.rows - 1;
	char text[1024];

	/* Here the top is a depth. */
	if (r && rows > 0 && r->depth >= place->top + (size_t)rows)
		place->top = r->depth - (size_t)rows + 1;
	if (r && r->depth < place->top)
		place->top = r->depth;
	for (size_t i = 0; i < boxes.n; i++) {
		int y = (int)boxes.v[i].depth - (int)place->top;

		if (y >= 0 && y < rows)
			paint_box(b, page, &boxes.v[i], b->layout.first + y);
	}
	if (r) {
		snprintf(text, sizeof(text), "%.2f%% self %.2f%% %.900s%s%.60s",
			 row_percent(r->total, all), row_percent(r->self, all), r->name,
			 *r->module ? "  " : "", r->module);
		page_put(page, b->layout.first + rows, 0, page->columns, STYLE_TITLE, 0, text);
	} else {
		page_put(page, b->layout.first, 0, page->columns, STYLE_DIM, 0, "no samples yet");
	}
	vec_free(&boxes);
}

void flame_move(struct browser *b, enum flame_way way)
{
	flame_box_vec boxes = flame_boxes(b, b->layout.columns);
	size_t at = 0, to;

	while (at < boxes.n && boxes.v[at].row != browser_place(b)->at)
		at++;
	if (at == boxes.n) {
		browser_select(b, boxes.n ? (long)boxes.v[0].row : 0);
		vec_free(&boxes);
		return;
	}
	to = at;
	if (way == FLAME_DOWN && at + 1 < boxes.n && boxes.v[at + 1].depth > boxes.v[at].depth)
		to = at + 1;
	while (way == FLAME_UP && to && boxes.v[to].depth >= boxes.v[at].depth)
		to--;
	if (way == FLAME_LEFT)
		for (to = at; to-- > 0 && boxes.v[to].depth != boxes.v[at].depth;)
			;
	if (way == FLAME_RIGHT)
		for (to = at + 1; to < boxes.n && boxes.v[to].depth != boxes.v[at].depth; to++)
			;
	if (to < boxes.n)
		browser_select(b, (long)boxes.v[to].row);
	vec_free(&boxes);
}

void flame_click(struct browser *b, int row, int column)
{
	flame_box_vec boxes = flame_boxes(b, b->layout.columns);
	size_t depth = browser_place(b)->top + (size_t)row;

	for (size_t i = 0; row >= 0 && i < boxes.n; i++)
		if (boxes.v[i].depth == depth && column >= boxes.v[i].x &&
		    column < boxes.v[i].x + boxes.v[i].width)
			browser_select(b, (long)boxes.v[i].row);
	vec_free(&boxes);
}
