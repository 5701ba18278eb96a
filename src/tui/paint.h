/* SPDX-License-Identifier: MIT */
/* The page of a browser: heading, bars, views, rows, and a line for what is asked and told. */
#ifndef EBPROF_PAINT_H
#define EBPROF_PAINT_H

#include "tui/browser.h"
#include "tui/page.h"

/* Of the size that @page was begun with. */
void paint_page(struct browser *b, struct page *page);
/* The view, or the column, whose title is there on the last page; -1: none. */
int paint_tab_at(const struct browser *b, int column);
int paint_column_at(const struct browser *b, int column);

#endif
