/* SPDX-License-Identifier: MIT */
/*
 * What tables of a profile consist of: rows of one kind, and one table of all columns that there
 * are. A column says what its value is, how it is called and how it is shown; tables for text
 * (views.c), pages of the live view (tui/rows.h) and JSON (ndjson.c) are lists of columns.
 */
#ifndef EBPROF_COLUMNS_H
#define EBPROF_COLUMNS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/vec.h"
#include "output/output.h"
#include "output/rollup.h"
#include "output/table.h"
#include "output/tree.h"
#include "output/units.h"
#include "profile/diff.h"

#define ACROSS_MOST 8		/* values of a label that have columns */

/* A function, module, line, process or thread, or one of them in a tree. */
struct row {
	uint64_t key;			/* the same for the same thing after a refresh */
	const char *name;		/* texts of the profile, or for ever */
	const char *module, *file, *owner, *asker;	/* "" where there is none */
	enum frame_kind kind;
	uint64_t address;		/* of a line of code without a name: in the module's file */
	uint32_t line, depth;
	uint32_t others;		/* processes besides @owner */
	pid_t pid, tid;
	uint64_t self, total;
	int parent;			/* 1: in a tree, the next row is below it */
	int heading;			/* 1: only a text between rows */
	uint32_t across[ACROSS_MOST];	/* its share of each value of a label, in millionths */
	/* of a function of a diff: what it has itself, and with what it calls; else NULL */
	const struct diff_row *own, *all;
};
typedef VEC(struct row) row_vec;

/* Without owners; of code alone with keys. */
struct row row_of_code(const struct rollup_function *f);
struct row row_of_task(const struct rollup_process *t);
struct row row_of_tree(const struct tree_row *t);

enum row_column_id {
	COLUMN_SELF_SHARE,
	COLUMN_TOTAL_SHARE,
	COLUMN_SHARE,		/* of a row whose self and total are one */
	COLUMN_PART,		/* of what is in focus */
	COLUMN_CPU,
	COLUMN_SELF,
	COLUMN_TOTAL,
	COLUMN_TAKEN,		/* of a row whose self and total are one */
	COLUMN_IMAGE,
	COLUMN_OWNER,
	COLUMN_KIND,
	COLUMN_FUNCTION,
	COLUMN_MODULE,
	COLUMN_CALLER,
	COLUMN_CALLEE,
	COLUMN_ASKER,
	COLUMN_LINE,
	COLUMN_FILE,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_COMM,
	COLUMN_NESTED,		/* a comm below that of its parent */
	COLUMN_FIRST_OF_TWO,	/* of a row whose self is of one thing, and total of another */
	COLUMN_SECOND_OF_TWO,
	COLUMN_BEFORE,		/* of a diff, in % */
	COLUMN_AFTER,
	COLUMN_CHANGE,
	COLUMN_INTERVAL,
	COLUMN_CHANGE_TOTAL,
	COLUMN_SECOND,		/* of the recording, from 0 */
	COLUMN_BUSIEST,		/* a function in a second */
	COLUMN_LABEL,		/* the value of a label */
	COLUMN_ACROSS,		/* the share of its first value, and of those that follow it */
	COLUMN_ACROSS_LAST = COLUMN_ACROSS + ACROSS_MOST - 1,
	COLUMNS,		/* ends a list */
};

/* How a value is shown; all but texts stand to the right. */
enum row_format {
	ROW_TEXT,
	ROW_NUMBER,
	ROW_VALUE,		/* in units of the profile's values, whose name is the heading */
	ROW_SHARE,		/* % of all samples */
	ROW_PART,		/* % of those in focus */
	ROW_CPU,		/* % of one CPU's time; only samples of CPU time have it */
	ROW_ACROSS,		/* % of the samples of a label's value, whose name is the heading */
	ROW_FORMATS,
};

struct row_column {
	const char *name;		/* member of a JSON object; NULL: not there */
	const char *heading;
	enum row_format format;
	int width;			/* of a text table, at least */
	int page;			/* of a page; 0: what is left; the last */
	int least;			/* columns that a page must have for it */
	/* One of both, by the format. A text is the row's, or in @buf of TABLE_CELL_MAX bytes. */
	uint64_t (*number)(const struct row *r);
	const char *(*text)(const struct row *r, char *buf);
	int place;			/* of ROW_ACROSS: which value */
	const char *none;		/* in place of 0 or ""; NULL: these are shown */
	/*
	 * What rows are sorted by where it is not the number: by a text of their own, and what has
	 * the same by rank, the least first.
	 */
	const char *(*order)(const struct row *r);
	uint64_t (*rank)(const struct row *r);
};
extern const struct row_column row_columns[COLUMNS];

/* What a cell is made of, besides its row. */
struct row_sums {
	uint64_t samples;		/* of the whole profile */
	uint64_t focus;			/* of what is in focus */
	/* % of one CPU that each of them stands for; 0: not known */
	double cpu_share;
	struct units units;		/* of values */
	const struct across *across;	/* whose columns there are; NULL: none */
};

#define ROW_VALUE_WIDTH 8		/* of a column of values on a page */

/* 1 where there is something to show in a column. */
int row_has_column(const struct row_column *c, const struct row_sums *s);
const char *row_heading(const struct row_column *c, const struct row_sums *s);
/* The text of a cell: @buf, filled, or one that lives as long as the row's. */
const char *row_cell(const struct row_column *c, const struct row *r, const struct row_sums *s,
		     char buf[TABLE_CELL_MAX]);
/* What stands first in a column has the least: the most of what is counted. Of texts 0. */
uint64_t row_rank(const struct row_column *c, const struct row *r);

/* @columns of @rows as a text table. */
void rows_write(const enum row_column_id *columns, const row_vec *rows, const struct row_sums *s,
		const struct output_options *o, struct outfile *f);
/* @columns of @r as members of the object that is open. */
void row_write_json(const enum row_column_id *columns, const struct row *r, struct json *j);

/* A share in %. */
double row_percent(uint64_t part, uint64_t all);

#endif
