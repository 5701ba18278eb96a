/* SPDX-License-Identifier: MIT */
#include "tui/page.h"

#include <string.h>

#include "base/text.h"

#define TEXT_MOST 4096		/* bytes of a piece */

void page_begin(struct page *p, int rows, int columns)
{
	for (size_t i = 0; i < p->texts.n; i++)
		free(p->texts.v[i].text);
	p->texts.n = 0;
	p->rows = rows;
	p->columns = columns;
	p->cursor_row = p->cursor_column = -1;
}

void page_free(struct page *p)
{
	page_begin(p, 0, 0);
	vec_free(&p->texts);
}

static void put(struct page *p, int row, int column, int width, enum style style, int right,
		int fill, const char *text)
{
	char fitted[TEXT_MOST], *padded;
	int used, pad;

	if (width > p->columns - column)
		width = p->columns - column;
	if (row < 0 || row >= p->rows || column < 0 || width <= 0)
		return;
	text_fit(fitted, sizeof(fitted), text, (size_t)width);
	used = (int)text_width(fitted);
	pad = used < width ? width - used : 0;
	padded = right ? xasprintf("%*s%s", pad, "", fitted)
		       : xasprintf("%s%*s", fitted, fill ? pad : 0, "");
	vec_push(&p->texts, (struct page_text){ row, column, style, padded });
}

void page_put(struct page *p, int row, int column, int width, enum style style, int fill,
	      const char *text)
{
	put(p, row, column, width, style, 0, fill, text);
}

void page_put_right(struct page *p, int row, int column, int width, enum style style,
		    const char *text)
{
	put(p, row, column, width, style, 1, 1, text);
}

const char *page_line(const struct page *p, int row, char *buf, size_t size)
{
	size_t end = 0;

	memset(buf, ' ', size);
	/* Texts of one byte a column are enough for tests that look at columns. */
	for (size_t i = 0; i < p->texts.n; i++) {
		const struct page_text *t = &p->texts.v[i];
		size_t n = strlen(t->text), at = (size_t)t->column;

		if (t->row != row || at + n >= size)
			continue;
		memcpy(buf + at, t->text, n);
		end = at + n > end ? at + n : end;
	}
	while (end && buf[end - 1] == ' ')
		end--;
	buf[end] = '\0';
	return buf;
}
