/* SPDX-License-Identifier: MIT */
#include "output/views.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "output/askers.h"
#include "output/callers.h"
#include "output/columns.h"
#include "output/formats.h"
#include "output/labelled.h"
#include "output/seconds.h"
#include "output/tree.h"

#define STEP 2			/* blanks a level */
#define LEVELS_MOST 40
#define LEVELS_LEAST 4
#define NUMBERS_WIDTH 30	/* columns of a terminal for what stands before the names */

/* --- The tables. -------------------------------------------------------------- */
#define SHARES COLUMN_SELF_SHARE, COLUMN_TOTAL_SHARE, COLUMN_SELF

static const enum row_column_id function_columns[] = {
	SHARES, COLUMN_IMAGE, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id function_columns_asked[] = {
	SHARES, COLUMN_IMAGE, COLUMN_FUNCTION, COLUMN_ASKER, COLUMNS
};
static const enum row_column_id module_columns[] = { SHARES, COLUMN_MODULE, COLUMNS };
static const enum row_column_id functions_across[] = {
	ACROSS_COLUMNS, COLUMN_IMAGE, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id modules_across[] = { ACROSS_COLUMNS, COLUMN_MODULE, COLUMNS };
static const enum row_column_id lines_across[] = {
	ACROSS_COLUMNS, COLUMN_FUNCTION, COLUMN_LINE, COLUMN_FILE, COLUMNS
};
static const enum row_column_id line_columns[] = {
	SHARES, COLUMN_FUNCTION, COLUMN_LINE, COLUMN_FILE, COLUMNS
};
static const enum row_column_id process_columns[] = {
	COLUMN_PID, COLUMN_COMM, COLUMN_TAKEN, COLUMN_SHARE, COLUMNS
};
static const enum row_column_id thread_columns[] = {
	COLUMN_PID, COLUMN_TID, COLUMN_COMM, COLUMN_TAKEN, COLUMN_SHARE, COLUMNS
};
static const enum row_column_id second_columns[] = {
	COLUMN_SECOND, COLUMN_TAKEN, COLUMN_SHARE, COLUMN_IMAGE, COLUMN_BUSIEST, COLUMNS
};
static const enum row_column_id caller_columns[] = {
	COLUMN_SHARE, COLUMN_PART, COLUMN_SELF, COLUMN_IMAGE, COLUMN_CALLER, COLUMNS
};
static const enum row_column_id callee_columns[] = {
	COLUMN_SHARE, COLUMN_PART, COLUMN_SELF, COLUMN_IMAGE, COLUMN_CALLEE, COLUMNS
};

/* A view by code, by tasks, or else of its own rows. */
static const struct view {
	const char *name;
	const enum row_column_id *columns;
	across_rollup *code;
	struct rollup_process *(*tasks)(const struct profile *p, size_t *n);
	row_vec (*rows)(const struct profile *p);
	const enum row_column_id *across;
} views[VIEWS_BY] = {
	[VIEWS_FUNCTION] = { "function", function_columns, .code = rollup_functions,
			     .across = functions_across },
	[VIEWS_MODULE] = { "module", module_columns, .code = rollup_modules,
			   .across = modules_across },
	[VIEWS_LINE] = { "line", line_columns, .code = rollup_lines, .across = lines_across },
	[VIEWS_PROCESS] = { "process", process_columns, .tasks = rollup_processes },
	[VIEWS_THREAD] = { "thread", thread_columns, .tasks = rollup_threads },
	[VIEWS_SECOND] = { "second", second_columns, .rows = seconds_rows },
};

const char *views_name(enum views_by by)
{
	return by < VIEWS_BY ? views[by].name : NULL;
}

static struct row_sums sums_of(const struct profile *p)
{
	return (struct row_sums){ .samples = profile_view(p).total, .units = units_of(p) };
}

/* With who called each of them, where that is known. */
static row_vec rows_of_code(const struct rollup_function *code, size_t n,
			    const struct askers *askers)
{
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_code(&code[i]);

		if (askers)
			row.asker = askers_text(askers, code[i].function);
		vec_push(&rows, row);
	}
	return rows;
}

static void write_code(const enum row_column_id *columns, const struct rollup_function *code,
		       size_t n, const struct row_sums *s, const struct output_options *o,
		       struct outfile *f)
{
	row_vec rows = rows_of_code(code, n, NULL);

	rows_write(columns, &rows, s, o, f);
	vec_free(&rows);
}

void views_top(const struct profile *p, enum views_by by, int by_total,
	       const struct output_options *o, struct outfile *f)
{
	struct askers *askers = by == VIEWS_FUNCTION ? askers_new(p) : NULL;
	const struct row_sums sums = sums_of(p);
	row_vec rows = { 0 };
	size_t n;

	if (views[by].code) {
		struct rollup_function *code = views[by].code(p, &n);

		if (by_total)
			rollup_sort_by_total(code, n);
		rows = rows_of_code(code, n, askers);
		free(code);
	} else if (views[by].rows) {
		rows = views[by].rows(p);
	} else {
		struct rollup_process *tasks = views[by].tasks(p, &n);

		for (size_t i = 0; i < n; i++)
			vec_push(&rows, row_of_task(&tasks[i]));
		free(tasks);
	}
	rows_write(askers ? function_columns_asked : views[by].columns, &rows, &sums, o, f);
	vec_free(&rows);
	askers_free(askers);
}

int views_has_across(enum views_by by)
{
	return views[by].across != NULL;
}

static uint64_t sum_across(const struct row *r)
{
	uint64_t sum = 0;

	for (int i = 0; i < ACROSS_MOST; i++)
		sum += r->across[i];
	return sum;
}

static int by_sum_across(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t m = sum_across(x), n = sum_across(y);

	return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

void views_across(const struct profile *p, const struct across *a, enum views_by by, int by_total,
		  const struct output_options *o, struct outfile *f)
{
	struct row_sums sums = sums_of(p);
	size_t n;
	struct rollup_function *code = views[by].code(p, &n);
	row_vec rows = rows_of_code(code, n, NULL);

	across_fill(a, views[by].code, by_total, &rows);
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), by_sum_across);
	sums.across = a;
	rows_write(views[by].across, &rows, &sums, o, f);
	vec_free(&rows);
	free(code);
}

void views_label(const struct profile *p, const char *key, const struct output_options *o,
		 struct outfile *f)
{
	static const enum row_column_id columns[] = { COLUMN_TAKEN, COLUMN_SHARE, COLUMN_LABEL,
						      COLUMNS };
	const struct row_sums sums = sums_of(p);
	struct strtab *texts = strtab_new();
	row_vec rows = labelled_rows(p, key, texts);

	rows_write(columns, &rows, &sums, o, f);
	vec_free(&rows);
	strtab_free(texts);
}

/* The functions in focus; the rows of @all are moved up. */
static void write_focus(const struct profile *p, const unsigned char *focus,
			struct rollup_function *all, size_t n, const struct output_options *o,
			struct outfile *f)
{
	const struct row_sums sums = sums_of(p);
	struct profile_view v = profile_view(p);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].function <= v.nfunctions && focus[all[i].function])
			all[kept++] = all[i];
	write_code(function_columns, all, kept, &sums, o, f);
}

void views_focus(const struct profile *p, const unsigned char *focus,
		 const struct output_options *o, struct outfile *f)
{
	struct callers *c = callers_new(p, focus);
	struct row_sums sums = sums_of(p);
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);

	write_focus(p, focus, all, n, o, f);
	outfile_printf(f, "in focus: %.2f%% of the samples, %.2f%% their own\n\n",
		       row_percent(c->total, sums.samples), row_percent(c->self, sums.samples));
	sums.focus = c->total;
	write_code(caller_columns, c->callers, c->ncallers, &sums, o, f);
	outfile_write(f, "\n", 1);
	write_code(callee_columns, c->callees, c->ncallees, &sums, o, f);
	free(all);
	callers_free(c);
}

/* --- The call tree. --------------------------------------------------------------- */

/*
 * The last column is indented. Deep stacks would leave no room for names (and on a pipe make
 * lines as long as they are deep), so from some depth on rows stand in one column and say how much
 * deeper they are: "+3 main".
 */
static const enum row_column_id tree_columns[] = {
	COLUMN_TOTAL_SHARE, COLUMN_SELF_SHARE, COLUMN_TOTAL, COLUMN_FUNCTION, COLUMNS
};

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
	const struct row_sums sums = sums_of(p);
	size_t n;
	struct tree_row *all = tree_rows(p, least, &n);
	char **names = xcalloc(n, sizeof(*names));
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_tree(&all[i]);

		row.name = names[i] = indented(&all[i], (uint32_t)levels(o));
		vec_push(&rows, row);
	}
	rows_write(tree_columns, &rows, &sums, o, f);
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	vec_free(&rows);
	free(all);
}

/* --- The top table. --------------------------------------------------------------- */

/*
 * The top table: functions by the samples taken in them, then processes.
 *
 * SELF% and SAMPLES count the samples whose innermost frame is the function,
 * so the column adds up to all samples; TOTAL% those with it anywhere on the
 * stack, recursion counted once. 100 % are the samples that were kept.
 */
void top_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	views_top(p, VIEWS_FUNCTION, o->sort == OUTPUT_SORT_TOTAL, o, f);
	if (profile_view(p).total) {
		outfile_write(f, "\n", 1);
		views_top(p, VIEWS_PROCESS, 0, o, f);
	} else {
		outfile_printf(f, "no samples\n");
	}
}
