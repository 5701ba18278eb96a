/* SPDX-License-Identifier: MIT */
/*
 * What each view shows of a profile, as rows of one kind, and how they become cells. A view and
 * a column are rows of const tables.
 */
#ifndef EBPROF_ROWS_H
#define EBPROF_ROWS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "output/units.h"
#include "profile/profile.h"

struct row {
	uint64_t key;			/* the same for the same thing after a refresh */
	const char *name;		/* texts of the profile, or for ever */
	const char *module, *file, *owner;	/* "" where there is none */
	enum frame_kind kind;
	uint32_t line, depth;
	uint32_t others;		/* processes besides @owner */
	pid_t pid, tid;
	uint64_t self, total;
	int parent;			/* 1: in a tree, the next row is below it */
	int heading;			/* 1: only a text between rows */
};
typedef VEC(struct row) row_vec;

enum view {
	VIEW_FUNCTIONS,
	VIEW_TASKS,
	VIEW_TREE,
	VIEW_CALLERS,
	VIEW_LINES,
	VIEW_FLAME,
	VIEW_MODULES,
	VIEWS
};

/* What the tasks are: processes by what they took, or below their parents, or threads. */
enum row_tasks { TASKS_PROCESSES, TASKS_TREE, TASKS_THREADS, TASKS };

/* What a view is of, besides the profile. */
struct rows_choice {
	enum row_tasks tasks;
	/* the function of callers and lines; NULL: none was chosen */
	const char *name, *module;
};

/* What a cell is made of, besides its row. */
struct rows_sums {
	uint64_t samples;		/* of the whole profile */
	/* % of one CPU that each of them stands for; 0: not known */
	double cpu_share;
	struct units units;		/* of values */
};

enum column_kind {
	COLUMN_TEXT,
	COLUMN_NUMBER,		/* to the right */
	COLUMN_VALUE,		/* that, titled by its unit */
	COLUMN_CPU,		/* a number that only samples of CPU time have */
};

struct row_column {
	const char *name;
	int width;			/* 0: what is left; the last */
	int least;			/* columns that the page must have for it */
	enum column_kind kind;
	const char *(*cell)(const struct row *r, const struct rows_sums *s, char *buf, size_t size);
	/* the first before the second: < 0 */
	int (*compare)(const struct row *a, const struct row *b);
};

struct row_view {
	const char *title;		/* one word */
	/* ends with a row without a name; NULL: it draws itself */
	const struct row_column *columns;
	row_vec (*make)(const struct profile *p, const struct rows_choice *c);
	int tree;			/* rows are a tree: not sorted, but opened and closed */
	int sorted;			/* by a column of the user's choice */
};
extern const struct row_view row_views[VIEWS];

#define CELL_MAX 64
#define VALUE_WIDTH 8		/* of a column of values */

/* The columns of a view for these choices. */
const struct row_column *rows_columns(enum view view, enum row_tasks tasks);
/* Of the tab. */
const char *rows_title(enum view view, enum row_tasks tasks);

#endif
