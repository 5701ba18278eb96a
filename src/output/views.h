/* SPDX-License-Identifier: MIT */
/*
 * Tables of a profile for a terminal or a text file: what rollup.h, tree.h and
 * callers.h sum up, printed. Shares are of the values that the profile shows.
 */
#ifndef EBPROF_VIEWS_H
#define EBPROF_VIEWS_H

#include "base/outfile.h"
#include "output/across.h"
#include "output/output.h"
#include "profile/profile.h"

enum views_by { VIEWS_FUNCTION, VIEWS_MODULE, VIEWS_LINE, VIEWS_PROCESS, VIEWS_THREAD, VIEWS_SECOND,
		VIEWS_BY };

/* "function", ... as the user names it; NULL for VIEWS_BY. */
const char *views_name(enum views_by by);
/* 1 where views_across() has rows. */
int views_has_across(enum views_by by);

/* A row each; the most self samples first, or with @by_total the most in all. */
void views_top(const struct profile *p, enum views_by by, int by_total,
	       const struct output_options *o, struct outfile *f);
/* A row for each value of the label @key. */
void views_label(const struct profile *p, const char *key, const struct output_options *o,
		 struct outfile *f);
/*
 * The rows of views_top() by code with their shares of each value in @a (across.h), those with the
 * greatest sum of shares first.
 */
void views_across(const struct profile *p, const struct across *a, enum views_by by, int by_total,
		  const struct output_options *o, struct outfile *f);
/* The call tree down to @percent of all samples. */
void views_tree(const struct profile *p, double percent, const struct output_options *o,
		struct outfile *f);
/* The functions in @focus (callers.h), who calls them and what they call. */
void views_focus(const struct profile *p, const unsigned char *focus,
		 const struct output_options *o, struct outfile *f);

#endif
