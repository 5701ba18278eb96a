/* SPDX-License-Identifier: MIT */
/*
 * How a recording went: rows of a key, a number and a text, which whoever measured adds, and which
 * are printed as lines or written as an object.
 */
#ifndef EBPROF_PROFILE_SUMMARY_H
#define EBPROF_PROFILE_SUMMARY_H

#include <stddef.h>
#include <stdio.h>

#include "base/vec.h"

/* Where a line stands among the others. Those of one place are in the order they were added in. */
enum summary_place {
	SUMMARY_ACCOUNT,	/* what became of the samples */
	SUMMARY_RESULT,		/* what was measured, in all */
	SUMMARY_NOTHING,	/* why there is nothing */
	SUMMARY_STACKS,		/* how they were unwound */
	SUMMARY_METHOD,		/* how it was measured */
	SUMMARY_NAMES,
	SUMMARY_EVENT,		/* which event was chosen, and why */
	SUMMARY_NOTES,		/* what is missing */
	SUMMARY_MISSED,
	SUMMARY_DETAILS,
	SUMMARY_PLACES,
};

struct summary_row {
	enum summary_place place;
	int begins;		/* a line */
	const char *key;	/* NULL: the text is all */
	double value;
	char *text;		/* as it stands in its line */
};

struct summary {
	VEC(struct summary_row) rows;
	enum summary_place place;	/* of the line that is being added to */
	int begins;
};

/* Rows from now on are a new line at @place. */
void summary_line(struct summary *s, enum summary_place place);
/*
 * Adds to the line, with what stands between it and the text before. @key: lower_case, with its
 * unit behind it where that is not a number of things; it is not copied.
 */
void summary_row(struct summary *s, const char *key, double value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same with a text alone. */
void summary_text(struct summary *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Sets what the row of @key says, where there is one. */
void summary_replace(struct summary *s, const char *key, double value, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* All lines, each after @prefix. */
void summary_print(const struct summary *s, const char *prefix, FILE *to);
void summary_free(struct summary *s);

#endif
