/* SPDX-License-Identifier: MIT */
#include "output/views.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/askers.h"
#include "output/callers.h"
#include "output/rollup.h"
#include "output/table.h"
#include "output/units.h"

#define CYAN "\033[36m"
#define DIM "\033[2m"
#define COLUMNS_MAX 8

const char *const views_by_names[] = { "function", "module", "line", "process", "thread", NULL };

/* Rows, of whichever kind the table's cells are for. */
struct rows {
	const struct rollup_function *code;
	const struct rollup_process *tasks;
	const struct askers *askers;	/* for function_columns_asked */
	uint64_t samples;		/* of the whole profile */
	uint64_t focus;			/* of what is in focus */
	struct units units;
};

double views_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

const char *views_color(enum frame_kind kind)
{
	return kind == FRAME_KERNEL ? CYAN : kind == FRAME_MARK ? DIM : NULL;
}

static const char *print_percent(uint64_t part, uint64_t all, char *buf, size_t size)
{
	snprintf(buf, size, "%.2f", views_percent(part, all));
	return buf;
}

static const char *print_number(uint64_t n, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64, n);
	return buf;
}

/* --- Functions, modules, lines. --------------------------------------------- */
static const char *code_self(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_percent(t->code[row].self, t->samples, buf, size);
}

static const char *code_total(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_percent(t->code[row].total, t->samples, buf, size);
}

static const char *code_samples(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return units_print(&t->units, t->code[row].self, buf, size);
}

static const char *code_part(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_percent(t->code[row].self, t->focus, buf, size);
}

static const char *code_image(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	(void)buf;
	(void)size;
	return *t->code[row].module ? t->code[row].module : "-";
}

static const char *code_name(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	(void)buf;
	(void)size;
	return t->code[row].name;
}

static const char *code_asker(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	(void)buf;
	(void)size;
	return askers_text(t->askers, t->code[row].function);
}

static const char *code_line(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return t->code[row].line ? print_number(t->code[row].line, buf, size) : "-";
}

static const char *code_file(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	(void)buf;
	(void)size;
	return *t->code[row].file ? t->code[row].file : "-";
}

static const char *code_color(const void *ctx, size_t row)
{
	const struct rows *t = ctx;

	return views_color(t->code[row].kind);
}

static double code_share(const void *ctx, size_t row)
{
	const struct rows *t = ctx;

	return views_percent(t->code[row].self, t->samples);
}

/* --- Processes and threads. -------------------------------------------------- */
static const char *task_pid(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_number((uint64_t)t->tasks[row].pid, buf, size);
}

static const char *task_tid(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_number((uint64_t)t->tasks[row].tid, buf, size);
}

static const char *task_comm(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	(void)buf;
	(void)size;
	return t->tasks[row].comm;
}

static const char *task_samples(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return units_print(&t->units, t->tasks[row].samples, buf, size);
}

static const char *task_percent(const void *ctx, size_t row, char *buf, size_t size)
{
	const struct rows *t = ctx;

	return print_percent(t->tasks[row].samples, t->samples, buf, size);
}

static double task_share(const void *ctx, size_t row)
{
	const struct rows *t = ctx;

	return views_percent(t->tasks[row].samples, t->samples);
}

/* --- The tables. -------------------------------------------------------------- */
#define VALUES "SAMPLES"	/* the column whose name follows from what is measured */
#define SHARES { "SELF%", 8, 1, code_self }, { "TOTAL%", 6, 1, code_total }, { VALUES, 7, 1, code_samples }

static const struct table_column function_columns[] = {
	SHARES, { "IMAGE", 5, 0, code_image }, { "FUNCTION", 8, 0, code_name }, { 0 },
};
static const struct table_column function_columns_asked[] = {
	SHARES,
	{ "IMAGE", 5, 0, code_image },
	{ "FUNCTION", 8, 0, code_name },
	{ "CALLED FROM", 11, 0, code_asker },
	{ 0 },
};
static const struct table_column module_columns[] = {
	SHARES, { "IMAGE", 5, 0, code_name }, { 0 },
};
static const struct table_column line_columns[] = {
	SHARES,
	{ "FUNCTION", 8, 0, code_name },
	{ "LINE", 5, 1, code_line },
	{ "FILE", 4, 0, code_file },
	{ 0 },
};
static const struct table_column process_columns[] = {
	{ "PID", 8, 1, task_pid }, { "COMM", 4, 0, task_comm },
	{ VALUES, 7, 1, task_samples }, { "%", 6, 1, task_percent }, { 0 },
};
static const struct table_column thread_columns[] = {
	{ "PID", 8, 1, task_pid }, { "TID", 7, 1, task_tid }, { "COMM", 4, 0, task_comm },
	{ VALUES, 7, 1, task_samples }, { "%", 6, 1, task_percent }, { 0 },
};
static const struct table_column caller_columns[] = {
	{ "%", 8, 1, code_self }, { "OF FOCUS%", 6, 1, code_part }, { VALUES, 7, 1, code_samples },
	{ "IMAGE", 5, 0, code_image }, { "CALLER", 8, 0, code_name }, { 0 },
};
static const struct table_column callee_columns[] = {
	{ "%", 8, 1, code_self }, { "OF FOCUS%", 6, 1, code_part }, { VALUES, 7, 1, code_samples },
	{ "IMAGE", 5, 0, code_image }, { "CALLEE", 8, 0, code_name }, { 0 },
};

/* A view by code, or else by tasks. */
static const struct view {
	const struct table_column *columns;
	struct rollup_function *(*code)(const struct profile *p, size_t *n);
	struct rollup_process *(*tasks)(const struct profile *p, size_t *n);
} views[VIEWS_BY] = {
	[VIEWS_FUNCTION] = { function_columns, rollup_functions, NULL },
	[VIEWS_MODULE] = { module_columns, rollup_modules, NULL },
	[VIEWS_LINE] = { line_columns, rollup_lines, NULL },
	[VIEWS_PROCESS] = { process_columns, NULL, rollup_processes },
	[VIEWS_THREAD] = { thread_columns, NULL, rollup_threads },
};

/* With the columns of @t; the one of values gets the name of their unit. */
static void write_rows(const struct table *t, const struct rows *rows,
		       const struct output_options *o, struct outfile *f)
{
	struct table_column columns[COLUMNS_MAX];
	struct table shown = *t;
	size_t n = 0;

	do {
		columns[n] = t->columns[n];
		if (columns[n].name && !strcmp(columns[n].name, VALUES))
			columns[n].name = rows->units.name;
	} while (t->columns[n++].width);
	shown.columns = columns;
	shown.ctx = rows;
	table_write(&shown, o, f);
}

static void write_code(const struct table_column *columns, const struct rows *rows, size_t n,
		       const struct output_options *o, struct outfile *f)
{
	write_rows(
		&(struct table){
			.columns = columns, .rows = n, .color = code_color, .share = code_share },
		rows, o, f);
}

void views_top(const struct profile *p, enum views_by by, int by_total,
	       const struct output_options *o, struct outfile *f)
{
	struct rollup_function *code = NULL;
	struct rollup_process *tasks = NULL;
	struct askers *askers = by == VIEWS_FUNCTION ? askers_new(p) : NULL;
	struct rows rows = { .samples = profile_view(p).total,
			     .units = units_of(p),
			     .askers = askers };
	size_t n;

	if (views[by].code) {
		rows.code = code = views[by].code(p, &n);
		if (by_total)
			rollup_sort_by_total(code, n);
		write_code(askers ? function_columns_asked : views[by].columns, &rows, n, o, f);
	} else {
		rows.tasks = tasks = views[by].tasks(p, &n);
		write_rows(&(struct table){ .columns = views[by].columns,
					    .rows = n,
					    .share = task_share },
			   &rows, o, f);
	}
	askers_free(askers);
	free(code);
	free(tasks);
}

/* The functions in focus; the rows of @all are moved up. */
static void write_focus(const struct profile *p, const unsigned char *focus,
			struct rollup_function *all, size_t n, const struct output_options *o,
			struct outfile *f)
{
	struct profile_view v = profile_view(p);
	const struct rows rows = { .code = all, .samples = v.total, .units = units_of(p) };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].function <= v.nfunctions && focus[all[i].function])
			all[kept++] = all[i];
	write_code(function_columns, &rows, kept, o, f);
}

void views_focus(const struct profile *p, const unsigned char *focus,
		 const struct output_options *o, struct outfile *f)
{
	uint64_t samples = profile_view(p).total;
	struct callers *c = callers_new(p, focus);
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);
	struct rows rows = { .samples = samples, .focus = c->total, .units = units_of(p) };

	write_focus(p, focus, all, n, o, f);
	outfile_printf(f, "in focus: %.2f%% of the samples, %.2f%% their own\n\n",
		       views_percent(c->total, samples), views_percent(c->self, samples));
	rows.code = c->callers;
	write_code(caller_columns, &rows, c->ncallers, o, f);
	outfile_write(f, "\n", 1);
	rows.code = c->callees;
	write_code(callee_columns, &rows, c->ncallees, o, f);
	free(all);
	callers_free(c);
}
