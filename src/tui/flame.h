/* SPDX-License-Identifier: MIT */
/*
 * The flame graph of a browser in characters: a box for each row of the tree, as wide as its share,
 * below its caller.
 */
#ifndef EBPROF_FLAME_H
#define EBPROF_FLAME_H

#include "tui/browser.h"
#include "tui/page.h"

enum flame_way { FLAME_UP, FLAME_DOWN, FLAME_LEFT, FLAME_RIGHT };

struct flame_box {
	uint32_t row;		/* of the browser's rows */
	uint32_t depth;
	int x, width;		/* columns */
};
typedef VEC(struct flame_box) flame_box_vec;

/*
 * The boxes that are at least a column wide, in the order of rows: those of one depth from left to
 * right.
 */
flame_box_vec flame_boxes(const struct browser *b, int columns);
void flame_paint(struct browser *b, struct page *page);
void flame_move(struct browser *b, enum flame_way way);
/* Selects what is at that row and column of the graph. */
void flame_click(struct browser *b, int row, int column);

#endif
