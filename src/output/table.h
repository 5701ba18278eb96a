/* SPDX-License-Identifier: MIT */
/*
 * A table for a terminal or a text file. A column is a row of a const table:
 * its name, its width, and how a cell gets its text. Numbers stand to the right
 * and are never cut; text stands to the left, and is cut in its middle where
 * the line would be longer than the terminal is wide. No line ends in a blank.
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
	/* The text of a cell: @buf, filled, or a string that outlives the call. */
	const char *(*cell)(const void *ctx, size_t row, char *buf, size_t size);
};

struct table {
	const struct table_column *columns;
	const void *ctx;	/* for the functions */
	size_t rows;
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
