/* SPDX-License-Identifier: MIT */
/*
 * The call tree as a table whose last column is indented. Deep stacks would leave
 * no room for names (and on a pipe make lines as long as they are deep), so from some
 * depth on rows stand in one column and say how much deeper they are: "+3 main".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "output/table.h"
#include "output/tree.h"
#include "output/units.h"
#include "output/views.h"

#define STEP 2			/* blanks a level */
#define LEVELS_MOST 40
#define LEVELS_LEAST 4
#define NUMBERS_WIDTH 30	/* columns of a terminal for what stands before the names */

struct tree {
	const struct tree_row *rows;
	char **names;			/* indented */
	uint64_t samples;		/* of the whole profile */
	struct units units;
};

static const char *row_total(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct tree *t = ctx;

	snprintf(buf, size, "%.2f", views_percent(t->rows[row].total, t->samples));
	return buf;
}

static const char *row_self(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct tree *t = ctx;

	snprintf(buf, size, "%.2f", views_percent(t->rows[row].self, t->samples));
	return buf;
}

static const char *row_samples(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct tree *t = ctx;

	return units_print(&t->units, t->rows[row].total, buf, size);
}

static const char *row_name(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct tree *t = ctx;

	(void)buf;
	(void)size;
	return t->names[row];
}

static const char *row_color(const void *ctx, size_t row)
{
	const struct tree *t = ctx;

	return views_color(t->rows[row].kind);
}

static double row_share(const void *ctx, size_t row)
{
	const struct tree *t = ctx;

	return views_percent(t->rows[row].self, t->samples);
}


static int levels(const struct output_options *o)
{
	/* at most a half of what names have */
	int n = (o->columns - NUMBERS_WIDTH) / (2 * STEP);

	if (!o->columns || n > LEVELS_MOST)
		return LEVELS_MOST;
	return n < LEVELS_LEAST ? LEVELS_LEAST : n;
}

static char *indented(const struct tree_row *row, uint32_t most)
{
	if (row->depth <= most)
		return xasprintf("%*s%s", (int)row->depth * STEP, "", row->name);
	return xasprintf("%*s+%" PRIu32 " %s", (int)most * STEP, "", row->depth - most, row->name);
}

void views_tree(const struct profile *p, double least, const struct output_options *o,
		struct outfile *f)
{
	size_t n;
	struct tree_row *rows = tree_rows(p, least, &n);
	struct tree t = { .rows = rows,
			  .names = xcalloc(n, sizeof(*t.names)),
			  .samples = profile_view(p).total,
			  .units = units_of(p) };

	const struct table_column columns[] = {
		{ "TOTAL%", 8, 1, row_total },
		{ "SELF%", 6, 1, row_self },
		{ t.units.name, 7, 1, row_samples },
		{ "FUNCTION", 8, 0, row_name },
		{ 0 },
	};

	for (size_t i = 0; i < n; i++)
		t.names[i] = indented(&rows[i], (uint32_t)levels(o));
	table_write(&(struct table){ .columns = columns,
				     .ctx = &t,
				     .rows = n,
				     .color = row_color,
				     .share = row_share },
		    o, f);
	for (size_t i = 0; i < n; i++)
		free(t.names[i]);
	free(t.names);
	free(rows);
}
