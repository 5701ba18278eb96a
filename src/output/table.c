/* SPDX-License-Identifier: MIT */
#include "output/table.h"

#include <string.h>

#include "base/text.h"

#define COLUMNS_MAX 16
#define GAP 2			/* blanks between columns */
#define TEXT_LEAST 8		/* columns a text keeps on the narrowest terminal */
/* columns kept for a text that is not the last: one long name is no desert */
#define TEXT_MOST 32

#define BOLD "\033[1m"
#define PLAIN "\033[0m"

struct layout {
	size_t n;
	size_t width[COLUMNS_MAX];
	size_t shown;		/* rows */
	int cut;		/* the terminal's width is known */
};

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* As wide as header and cells need, then down to what the terminal has. */
static struct layout lay_out(const struct table *t, const struct output_options *o)
{
	struct layout l = { .shown = t->rows, .cut = o->columns > 0 };
	size_t before = 0;

	if (o->rows > 0 && l.shown > (size_t)o->rows)
		l.shown = (size_t)o->rows;
	for (; l.n < COLUMNS_MAX && t->columns[l.n].width; l.n++) {
		const struct table_column *c = &t->columns[l.n];
		int last = !t->columns[l.n + 1].width;
		size_t width = larger((size_t)c->width, text_width(c->name)), most = TEXT_MOST;
		char buf[TABLE_CELL_MAX];

		for (size_t i = 0; i < l.shown; i++)
			width = larger(width, text_width(t->cell(t->ctx, i, l.n, buf)));
		if (l.cut && last)
			most = (size_t)o->columns > before ? (size_t)o->columns - before : 0;
		else if (l.cut && (size_t)o->columns / 4 < most)
			most = (size_t)o->columns / 4;
		if (!c->number && width > most && (l.cut || !last))
			width = larger(most, TEXT_LEAST);
		l.width[l.n] = width;
		before += width + GAP;
	}
	return l;
}

static void blanks(struct outfile *f, size_t n)
{
	outfile_printf(f, "%*s", (int)n, "");
}

/*
 * One cell and the blanks before it. Returns the blanks that are still owed
 * after it: a next cell pays them, the end of the line does not.
 */
static size_t write_cell(struct outfile *f, const struct table_column *c, size_t width, int cut,
			 size_t owed, const char *text, const char *color)
{
	char fitted[2048];
	size_t used = text_width(text), pad, bytes;

	if (cut && !c->number && used > width) {
		text_fit(fitted, sizeof(fitted), text, width);
		text = fitted;
		used = text_width(text);
	}
	pad = used < width ? width - used : 0;
	bytes = strlen(text);
	/* Blanks at the end of a name are owed like any padding. */
	for (; bytes && text[bytes - 1] == ' '; bytes--)
		pad++;
	if (!bytes)
		return owed + pad + GAP;
	blanks(f, owed + (c->number ? pad : 0));
	if (color)
		outfile_write(f, color, strlen(color));
	outfile_write(f, text, bytes);
	if (color)
		outfile_write(f, PLAIN, strlen(PLAIN));
	return c->number ? GAP : pad + GAP;
}

static void write_header(const struct table *t, const struct layout *l, int color,
			 struct outfile *f)
{
	size_t owed = 0;

	for (size_t i = 0; i < l->n; i++)
		owed = write_cell(f, &t->columns[i], l->width[i], l->cut, owed, t->columns[i].name,
				  color ? BOLD : NULL);
	outfile_write(f, "\n", 1);
}

void table_write(const struct table *t, const struct output_options *o, struct outfile *f)
{
	struct layout l = lay_out(t, o);
	double left_out = 0;

	write_header(t, &l, o->color, f);
	for (size_t row = 0; row < l.shown; row++) {
		const char *color = o->color && t->color ? t->color(t->ctx, row) : NULL;
		size_t owed = 0;

		for (size_t i = 0; i < l.n; i++) {
			const struct table_column *c = &t->columns[i];
			char buf[TABLE_CELL_MAX];
			const char *text = t->cell(t->ctx, row, i, buf);

			owed = write_cell(f, c, l.width[i], l.cut, owed, text,
					  c->number ? NULL : color);
		}
		outfile_write(f, "\n", 1);
	}
	for (size_t row = l.shown; t->share && row < t->rows; row++)
		left_out += t->share(t->ctx, row);
	if (l.shown < t->rows && t->share)
		outfile_printf(f, "... and %zu more, with %.2f%% of the samples\n",
			       t->rows - l.shown, left_out);
	else if (l.shown < t->rows)
		outfile_printf(f, "... and %zu more\n", t->rows - l.shown);
}
