/* SPDX-License-Identifier: MIT */
/*
 * What each view shows of a profile: rows, and which columns they have (output/columns.h). A view
 * is a row of a const table.
 */
#ifndef EBPROF_ROWS_H
#define EBPROF_ROWS_H

#include <stdint.h>
#include <sys/types.h>

#include "output/columns.h"
#include "profile/profile.h"

enum view {
	VIEW_FUNCTIONS,
	VIEW_TASKS,
	VIEW_TREE,
	VIEW_CALLERS,
	VIEW_LINES,
	VIEW_FLAME,
	VIEW_MODULES,
	VIEW_CHANGES,		/* of a diff alone */
	VIEW_PAIR,		/* of two functions that were marked; has no tab */
	VIEWS
};

/* What the tasks are: processes by what they took, or below their parents, or threads. */
enum row_tasks { TASKS_PROCESSES, TASKS_TREE, TASKS_THREADS, TASKS };

/* A function that was marked, by texts of the owner's; @name NULL: none. */
struct rows_mark { char *name, *module; };

/* What a view is of, besides the profile. */
struct rows_choice {
	enum row_tasks tasks;
	/* the function of callers and lines; NULL: none was chosen */
	const char *name, *module;
	const struct diff *diff;	/* NULL: it is no diff */
	const struct rows_mark *marks;	/* two */
	const struct across *across;	/* values of a label, of the profile; NULL: none */
};

struct row_view {
	const char *title;		/* one word */
	const enum row_column_id *columns;	/* NULL: it draws itself */
	row_vec (*make)(const struct profile *p, const struct rows_choice *c);
	int tree;			/* rows are a tree: not sorted, but opened and closed */
	int sorted;			/* by a column of the user's choice */
};
extern const struct row_view row_views[VIEWS];

/* The columns of a view for these choices. */
const enum row_column_id *rows_columns(enum view view, const struct rows_choice *c);
/* Of the tab. */
const char *rows_title(enum view view, enum row_tasks tasks);

#endif
