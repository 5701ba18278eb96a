/* SPDX-License-Identifier: MIT */
/*
 * What `ebprof diff` writes of a comparison (output_options.diff): two tables, of what ends in each
 * function and of what has it anywhere on the stack, by self, total, or both. They list
 * significant changes, and with output_options.all the others too, grey; else those are only
 * counted. The same as JSON has rates as fractions of 1.
 */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "output/table.h"
#include "profile/diff.h"

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
	{ "BEFORE%", 8, 1 }, { "AFTER%", 7, 1 }, { "CHANGE", 7, 1 }, { "95% INTERVAL", 16, 1 },
	{ "RELATIVE", 8, 1 }, { "IMAGE", 5, 0 }, { "FUNCTION", 8, 0 }, { 0 },
};
static const char *(*const cells[])(const void *ctx, size_t row, char *buf, size_t size) = {
	cell_before, cell_after, cell_change, cell_interval, cell_relative, cell_image,
	cell_function,
};

static const char *cell(const void *ctx, size_t row, size_t column, char buf[TABLE_CELL_MAX])
{
	return cells[column](ctx, row, buf, TABLE_CELL_MAX);
}

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

static void write_list(const struct diff *d, const struct diff_list *l,
		       const struct output_options *o, struct outfile *f)
{
	const struct rows rows = { diff_profile(d), l->rows };

	if (o->all || l->significant)
		table_write(&(struct table){ .columns = columns,
					     .ctx = &rows,
					     .rows = o->all ? l->n : l->significant,
					     .cell = cell,
					     .color = row_color },
			    o, f);
	write_rest(l, f);
}

void difference_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	const struct diff *d = o->diff;
	/* What 100 % are. */
	const char *const whole[] = {
		[DIFF_SAMPLES] = diff_counted(d) ? "the samples" : diff_unit(d),
		[DIFF_SECONDS] = "one CPU's time",
		[DIFF_NONE] = diff_counted(d) ? "the samples before" : "before",
	};
	const char *of = whole[diff_normalized(d)];

	(void)p;
	if (o->sort != OUTPUT_SORT_TOTAL) {
		outfile_printf(f, "Self: the function itself, %% of %s\n", of);
		write_list(d, diff_self(d), o, f);
	}
	if (o->sort == OUTPUT_SORT_DEFAULT)
		outfile_write(f, "\n", 1);
	if (o->sort != OUTPUT_SORT_SELF) {
		outfile_printf(f, "Total: the function and what it calls, %% of %s\n", of);
		write_list(d, diff_total(d), o, f);
	}
}

/* --- For programs. ------------------------------------------------------------- */

static void write_json_row(struct json *j, const struct profile *p, const struct diff_row *r)
{
	struct profile_view v = profile_view(p);
	int named = r->function < v.nfunctions;

	json_object(j, NULL);
	json_string(j, "function",
		    r->function == PROFILE_NONE ? ROLLUP_NO_STACK : rollup_name(p, r->function));
	json_string(j, "image", named ? profile_text(p, v.functions[r->function].module) : "");
	json_double(j, "before", r->rate[DIFF_BEFORE]);
	json_double(j, "after", r->rate[DIFF_AFTER]);
	json_double(j, "change", diff_change(r));
	json_double(j, "low", r->low);
	json_double(j, "high", r->high);
	json_double(j, "p", r->p);
	json_bool(j, "significant", r->significant);
	json_end(j);
}

static void write_json_list(struct json *j, const char *key, const struct profile *p,
			    const struct diff_list *l, int all)
{
	json_array(j, key);
	for (size_t i = 0; i < (all ? l->n : l->significant); i++)
		write_json_row(j, p, &l->rows[i]);
	json_end(j);
}

void difference_json_write(const struct profile *p, const struct output_options *o,
			   struct outfile *f)
{
	static const char *const words[] = {
		[DIFF_SAMPLES] = "samples", [DIFF_SECONDS] = "seconds", [DIFF_NONE] = "none"
	};
	const struct diff *d = o->diff;
	struct profile_view v = profile_view(p);
	struct json j = { .f = f };

	json_object(&j, NULL);
	json_string(&j, "normalize", words[diff_normalized(d)]);
	json_string(&j, "unit", diff_counted(d) ? "samples" : diff_unit(d));
	json_uint(&j, "before", v.types[DIFF_BEFORE].total);
	json_uint(&j, "after", v.types[DIFF_AFTER].total);
	write_json_list(&j, "self", p, diff_self(d), o->all);
	write_json_list(&j, "total", p, diff_total(d), o->all);
	json_end(&j);
	json_newline(&j);
}
