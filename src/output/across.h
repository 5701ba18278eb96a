/* SPDX-License-Identifier: MIT */
/*
 * The values of a label beside one another: what share of its samples each file, container or
 * thread has in a function. The columns are those of COLUMN_ACROSS (columns.h).
 */
#ifndef EBPROF_ACROSS_H
#define EBPROF_ACROSS_H

#include <stddef.h>
#include <stdint.h>

#include "output/columns.h"
#include "output/rollup.h"
#include "profile/profile.h"

#define ACROSS_FILE "file"	/* the label of samples of several files that are read */
#define ACROSS_WHOLE 1000000	/* all samples of a value */
#define ACROSS_WIDTH 12		/* columns of a terminal that a heading has, at most */

/* For lists of columns; those that a profile does not have are left out. */
#define ACROSS_COLUMNS \
	COLUMN_ACROSS, COLUMN_ACROSS + 1, COLUMN_ACROSS + 2, COLUMN_ACROSS + 3, \
	COLUMN_ACROSS + 4, COLUMN_ACROSS + 5, COLUMN_ACROSS + 6, COLUMN_ACROSS + 7

struct across {
	size_t n;
	size_t others;		/* values that have no column */
	struct across_value {
		/* its text, without folders and endings where others have them, too, and cut */
		char heading[4 * ACROSS_WIDTH + 1];
		struct profile *part;	/* its samples */
	} values[ACROSS_MOST];
};

/* Files as they were given, values of other labels by their samples, the most first. */
struct across *across_new(const struct profile *p, const char *key);
/* Takes NULL. */
void across_free(struct across *a);

typedef struct rollup_function *across_rollup(const struct profile *p, size_t *n);
/*
 * Gives @rows, which @rollup has made of the whole profile, their shares of each value: of their
 * own samples or, with @by_total, of those with what they call. Nothing where @a is NULL.
 */
void across_fill(const struct across *a, across_rollup *rollup, int by_total, row_vec *rows);

#endif
