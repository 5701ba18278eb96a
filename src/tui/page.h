/* SPDX-License-Identifier: MIT */
/*
 * A screen full of text before it is on a screen: pieces of clean text with a style, each at its
 * place. Made without a terminal, so that it can be looked at without one, too.
 */
#ifndef EBPROF_PAGE_H
#define EBPROF_PAGE_H

#include <stddef.h>

#include "base/vec.h"

enum style {
	STYLE_PLAIN,
	STYLE_TITLE,
	STYLE_HEADER,
	STYLE_TAB,
	STYLE_SELECTED,
	STYLE_KERNEL,
	STYLE_DIM,
	STYLE_MATCH,
	STYLE_ALERT,
	STYLE_FLAME, /* the first of STYLE_FLAMES colours */
};
#define STYLE_FLAMES 6
#define STYLES (STYLE_FLAME + STYLE_FLAMES)

struct page_text {
	int row, column;
	enum style style;
	char *text;
};

struct page {
	int rows, columns;
	VEC(struct page_text) texts;
	int cursor_row, cursor_column;	/* -1: none is shown */
};

/* Empty, of that size. A page that is all zeros was never used. */
void page_begin(struct page *p, int rows, int columns);
/*
 * @text at @row and @column, fitted into @width columns (what is longer loses its middle) and
 * filled up with blanks to it where @fill; what is off the page is not there.
 */
void page_put(struct page *p, int row, int column, int width, enum style style, int fill,
	      const char *text);
/* The same to the right of its @width columns. */
void page_put_right(struct page *p, int row, int column, int width, enum style style,
		    const char *text);
/*
 * A row as text, without blanks at its end; for tests. Later pieces lie upon earlier ones. @buf is
 * returned.
 */
const char *page_line(const struct page *p, int row, char *buf, size_t size);
void page_free(struct page *p);

#endif
