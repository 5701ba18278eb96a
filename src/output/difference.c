/* SPDX-License-Identifier: MIT */
#include "output/difference.h"

#include <math.h>
#include <stdio.h>

#include "output/rollup.h"
#include "output/table.h"

#define RED "\033[31m"
#define GREEN "\033[32m"
#define DIM "\033[2m"

struct rows {
	const struct profile *profile;
	const struct diff_row *rows;
};

static const struct diff_row *at(const void *ctx, size_t row)
{
	return &((const struct rows *)ctx)->rows[row];
}

static const char *print_percent(double share, const char *format, char *buf, size_t size)
{
	snprintf(buf, size, format, 100 * share);
	return buf;
}

static const char *cell_before(const void *ctx, size_t row, char *buf, size_t size)
{
	return print_percent(at(ctx, row)->rate[DIFF_BEFORE], "%.2f", buf, size);
}

static const char *cell_after(const void *ctx, size_t row, char *buf, size_t size)
{
	return print_percent(at(ctx, row)->rate[DIFF_AFTER], "%.2f", buf, size);
}

static const char *cell_change(const void *ctx, size_t row, char *buf, size_t size)
{
	return print_percent(diff_change(at(ctx, row)), "%+.2f", buf, size);
}

static const char *cell_interval(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct diff_row *r = at(ctx, row);

	if (!isfinite(r->low))
		return "-";
	snprintf(buf, size, "%+.2f .. %+.2f", 100 * r->low, 100 * r->high);
	return buf;
}

static const char *cell_relative(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct diff_row *r = at(ctx, row);

	if (r->count[DIFF_BEFORE] <= 0)
		return "new";
	if (r->count[DIFF_AFTER] <= 0)
		return "gone";
	return print_percent(diff_change(r) / r->rate[DIFF_BEFORE], "%+.1f%%", buf, size);
}

static const char *cell_image(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct profile *p = ((const struct rows *)ctx)->profile;
	struct profile_view v = profile_view(p);
	uint32_t function = at(ctx, row)->function;
	const char *name = function < v.nfunctions ? profile_text(p, v.functions[function].module)
						   : "";

	(void)buf;
	(void)size;
	return *name ? name : "-";
}

static const char *cell_function(const void *ctx, size_t row, char *buf, size_t size)
{
	uint32_t function = at(ctx, row)->function;

	(void)buf;
	(void)size;
	return function == PROFILE_NONE
		       ? ROLLUP_NO_STACK
		       : rollup_name(((const struct rows *)ctx)->profile, function);
}

static const struct table_column columns[] = {
	{ "BEFORE%", 8, 1, cell_before },
	{ "AFTER%", 7, 1, cell_after },
	{ "CHANGE", 7, 1, cell_change },
	{ "95% INTERVAL", 16, 1, cell_interval },
	{ "RELATIVE", 8, 1, cell_relative },
	{ "IMAGE", 5, 0, cell_image },
	{ "FUNCTION", 8, 0, cell_function },
	{ 0 },
};

static const char *row_color(const void *ctx, size_t row)
{
	const struct diff_row *r = at(ctx, row);

	return !r->significant ? DIM : diff_change(r) > 0 ? RED : GREEN;
}

/*
 * What is behind the significant rows: how many, and what is the most that could be made of them.
 */
static void write_rest(const struct diff_list *l, struct outfile *f)
{
	const struct diff_row *next = &l->rows[l->significant];

	outfile_printf(f, "%zu of %zu functions changed", l->significant, l->n);
	if (l->significant < l->n)
		outfile_printf(
			f, "; of the others the largest change, %+.2f, %s", 100 * diff_change(next),
			isfinite(next->low) ? "is within chance"
					    : "may be chance: that takes several files of each");
	outfile_write(f, "\n", 1);
}

static void write_list(const struct diff *d, const struct diff_list *l, int all,
		       const struct output_options *o, struct outfile *f)
{
	const struct rows rows = { diff_profile(d), l->rows };

	if (all || l->significant)
		table_write(&(struct table){ .columns = columns,
					     .ctx = &rows,
					     .rows = all ? l->n : l->significant,
					     .color = row_color },
			    o, f);
	write_rest(l, f);
}

void difference_write(const struct diff *d, int all, const struct output_options *o,
		      struct outfile *f)
{
	/* What 100 % are. */
	const char *const whole[] = {
		[DIFF_SAMPLES] = diff_counted(d) ? "the samples" : diff_unit(d),
		[DIFF_SECONDS] = "one CPU's time",
		[DIFF_NONE] = diff_counted(d) ? "the samples before" : "before",
	};
	const char *of = whole[diff_normalized(d)];

	if (o->sort != OUTPUT_SORT_TOTAL) {
		outfile_printf(f, "Self: the function itself, %% of %s\n", of);
		write_list(d, diff_self(d), all, o, f);
	}
	if (o->sort == OUTPUT_SORT_DEFAULT)
		outfile_write(f, "\n", 1);
	if (o->sort != OUTPUT_SORT_SELF) {
		outfile_printf(f, "Total: the function and what it calls, %% of %s\n", of);
		write_list(d, diff_total(d), all, o, f);
	}
}
