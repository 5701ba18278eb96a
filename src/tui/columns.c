/* SPDX-License-Identifier: MIT */
/* The tables of views and columns, and how cells get their texts. */
#include "tui/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/views.h"

#define NESTED_MOST ((CELL_MAX - 34) / 2)	/* levels that are indented */

/* --- Cells. ------------------------------------------------------------------ */
static const char *self_share(const struct row *r, const struct rows_sums *s, char *buf,
			      size_t size)
{
	snprintf(buf, size, "%.2f", views_percent(r->self, s->samples));
	return buf;
}

/* As htop has it: a thread that never waits has 100, a process of four such 400. */
static const char *cpu_share(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	snprintf(buf, size, "%.1f", (double)r->self * s->cpu_share);
	return buf;
}

static const char *total_share(const struct row *r, const struct rows_sums *s, char *buf,
			       size_t size)
{
	snprintf(buf, size, "%.2f", views_percent(r->total, s->samples));
	return buf;
}

static const char *self_count(const struct row *r, const struct rows_sums *s, char *buf,
			      size_t size)
{
	return units_print(&s->units, r->self, buf, size);
}

static const char *total_count(const struct row *r, const struct rows_sums *s, char *buf,
			       size_t size)
{
	return units_print(&s->units, r->total, buf, size);
}

static const char *image(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	(void)buf;
	(void)size;
	return *r->module ? r->module : "-";
}

/* "comm/pid", and "+3" where it is of so many others, too; "comm (ended)" has no PID. */
static const char *owner(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	if (!*r->owner)
		return "-";
	snprintf(buf, size, r->pid ? "%.40s/%d" : "%.40s", r->owner, r->pid);
	if (r->others)
		snprintf(buf + strlen(buf), size - strlen(buf), "+%" PRIu32, r->others);
	return buf;
}

static const char *name(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	(void)buf;
	(void)size;
	return r->name;
}

/* Below its parent. */
static const char *nested_name(const struct row *r, const struct rows_sums *s, char *buf,
			       size_t size)
{
	uint32_t depth = r->depth < NESTED_MOST ? r->depth : NESTED_MOST;

	(void)s;
	snprintf(buf, size, "%*s%.32s", 2 * (int)depth, "", r->name);
	return buf;
}

static const char *pid(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "%d", r->pid);
	return buf;
}

static const char *tid(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "%d", r->tid);
	return buf;
}

static const char *line(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	snprintf(buf, size, "%" PRIu32, r->line);
	return buf;
}

static const char *file(const struct row *r, const struct rows_sums *s, char *buf, size_t size)
{
	(void)s;
	(void)buf;
	(void)size;
	return *r->file ? r->file : "-";
}

/* --- Orders. ----------------------------------------------------------------- */
static int by_self(const struct row *a, const struct row *b)
{
	return (a->self < b->self) - (a->self > b->self);
}

static int by_total(const struct row *a, const struct row *b)
{
	return (a->total < b->total) - (a->total > b->total);
}

static int by_image(const struct row *a, const struct row *b)
{
	return strcmp(a->module, b->module);
}

static int by_owner(const struct row *a, const struct row *b)
{
	int c = strcmp(a->owner, b->owner);

	return c ? c : (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_name(const struct row *a, const struct row *b)
{
	return strcmp(a->name, b->name);
}

static int by_pid(const struct row *a, const struct row *b)
{
	return (a->pid > b->pid) - (a->pid < b->pid);
}

static int by_tid(const struct row *a, const struct row *b)
{
	return (a->tid > b->tid) - (a->tid < b->tid);
}

static int by_line(const struct row *a, const struct row *b)
{
	return (a->line > b->line) - (a->line < b->line);
}

static int by_file(const struct row *a, const struct row *b)
{
	return strcmp(a->file, b->file);
}

/* --- The tables. --------------------------------------------------------------- */
#define SHARES                                                                \
	{ "SELF%", 6, 0, COLUMN_NUMBER, self_share, by_self },                \
		{ "TOTAL%", 6, 0, COLUMN_NUMBER, total_share, by_total },     \
	{                                                                     \
		"SAMPLES", VALUE_WIDTH, 60, COLUMN_VALUE, self_count, by_self \
	}

static const struct row_column function_columns[] = {
	SHARES,
	{ "IMAGE", 14, 50, COLUMN_TEXT, image, by_image },
	{ "PROCESS", 18, 90, COLUMN_TEXT, owner, by_owner },
	{ "FUNCTION", 0, 0, COLUMN_TEXT, name, by_name },
	{ 0 },
};
static const struct row_column module_columns[] = {
	SHARES, { "IMAGE", 0, 0, COLUMN_TEXT, name, by_name }, { 0 },
};
#define CPU_SHARE { "CPU%", 7, 45, COLUMN_CPU, cpu_share, by_self }

static const struct row_column process_columns[] = {
	{ "%", 6, 0, COLUMN_NUMBER, self_share, by_self },
	CPU_SHARE,
	{ "SAMPLES", VALUE_WIDTH, 0, COLUMN_VALUE, self_count, by_self },
	{ "PID", 8, 0, COLUMN_NUMBER, pid, by_pid },
	{ "COMM", 0, 0, COLUMN_TEXT, name, by_name },
	{ 0 },
};
/* Each with what it and those below it took. */
static const struct row_column process_tree_columns[] = {
	{ "TOTAL%", 6, 0, COLUMN_NUMBER, total_share, NULL },
	{ "SELF%", 6, 0, COLUMN_NUMBER, self_share, NULL },
	CPU_SHARE,
	{ "SAMPLES", VALUE_WIDTH, 60, COLUMN_VALUE, total_count, NULL },
	{ "PID", 8, 0, COLUMN_NUMBER, pid, NULL },
	{ "COMM", 0, 0, COLUMN_TEXT, nested_name, NULL },
	{ 0 },
};
static const struct row_column thread_columns[] = {
	{ "%", 6, 0, COLUMN_NUMBER, self_share, by_self }, CPU_SHARE,
	{ "SAMPLES", VALUE_WIDTH, 0, COLUMN_VALUE, self_count, by_self },
	{ "PID", 8, 0, COLUMN_NUMBER, pid, by_pid }, { "TID", 8, 0, COLUMN_NUMBER, tid, by_tid },
	{ "COMM", 0, 0, COLUMN_TEXT, name, by_name }, { 0 },
};
static const struct row_column tree_columns[] = {
	{ "TOTAL%", 6, 0, COLUMN_NUMBER, total_share, NULL },
	{ "SELF%", 6, 0, COLUMN_NUMBER, self_share, NULL },
	{ "SAMPLES", VALUE_WIDTH, 60, COLUMN_VALUE, total_count, NULL },
	{ "FUNCTION", 0, 0, COLUMN_TEXT, name, NULL },
	{ 0 },
};
static const struct row_column caller_columns[] = {
	{ "SELF%", 6, 0, COLUMN_NUMBER, self_share, NULL },
	{ "TOTAL%", 6, 0, COLUMN_NUMBER, total_share, NULL },
	{ "SAMPLES", VALUE_WIDTH, 60, COLUMN_VALUE, total_count, NULL },
	{ "IMAGE", 14, 50, COLUMN_TEXT, image, NULL },
	{ "FUNCTION", 0, 0, COLUMN_TEXT, name, NULL },
	{ 0 },
};
static const struct row_column line_columns[] = {
	SHARES,
	{ "LINE", 6, 0, COLUMN_NUMBER, line, by_line },
	{ "FILE", 0, 0, COLUMN_TEXT, file, by_file },
	{ 0 },
};

const struct row_view row_views[VIEWS] = {
	[VIEW_FUNCTIONS] = { "functions", function_columns, rows_functions, 0, 1 },
	[VIEW_TASKS] = { "tasks", process_columns, rows_tasks, 0, 1 },
	[VIEW_TREE] = { "tree", tree_columns, rows_tree, 1, 0 },
	[VIEW_CALLERS] = { "callers", caller_columns, rows_callers, 0, 0 },
	[VIEW_LINES] = { "lines", line_columns, rows_lines, 0, 1 },
	[VIEW_FLAME] = { "flame", NULL, rows_tree, 1, 0 },
	[VIEW_MODULES] = { "modules", module_columns, rows_modules, 0, 1 },
};

static const struct {
	const char *title;
	const struct row_column *columns;
} tasks_as[TASKS] = {
	[TASKS_PROCESSES] = { "processes", process_columns },
	[TASKS_TREE] = { "processes", process_tree_columns },
	[TASKS_THREADS] = { "threads", thread_columns },
};

const struct row_column *rows_columns(enum view view, enum row_tasks tasks)
{
	return view == VIEW_TASKS ? tasks_as[tasks].columns : row_views[view].columns;
}

const char *rows_title(enum view view, enum row_tasks tasks)
{
	return view == VIEW_TASKS ? tasks_as[tasks].title : row_views[view].title;
}
