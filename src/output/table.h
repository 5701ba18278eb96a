/* SPDX-License-Identifier: MIT */
/*
 * A table for a terminal or a text file. Numbers stand to the right and are never cut; text
 * stands to the left, and is cut in its middle where the line would be longer than the terminal
 * is wide. No line ends in a blank.
 */
#ifndef EBPROF_TABLE_H
#define EBPROF_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "output/output.h"

struct table_column {
	const char *name;
	int width;		/* at least; 0 ends the array */
	int number;		/* 1: to the right */
};

#define TABLE_CELL_MAX 64	/* bytes of a text that is made for a cell */

struct table {
	const struct table_column *columns;
	const void *ctx;	/* for the functions */
	size_t rows;
	/* The text of a cell: @buf, filled, or a string that outlives the call. */
	const char *(*cell)(const void *ctx, size_t row, size_t column, char buf[TABLE_CELL_MAX]);
	/* What starts the colour of a row's text ("\033[36m"), NULL for none; may be NULL. */
	const char *(*color)(const void *ctx, size_t row);
	/*
	 * The share, in %, of all samples that a row stands for; shares of all rows add up to 100.
	 * May be NULL.
	 */
	double (*share)(const void *ctx, size_t row);
};

/*
 * The header and at most @o->rows rows; where rows are left out, a line says how many and, with
 * shares, theirs.
 */
void table_write(const struct table *t, const struct output_options *o, struct outfile *f);

#endif
