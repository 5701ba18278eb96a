/* SPDX-License-Identifier: MIT */
/*
 * The times of samples in the flame graph page (html.c), for profiles that have them. Thread by
 * thread, in the order of their labels, and by time within each:
 *
 *	"times":{"unit":100000,"each":1,"threads":[N,...]}	a member of the profile's JSON
 *	<script type="text/plain" id="tick-time">	units since the thread's one before; the
 *							first: since the recording began
 *	<script type="text/plain" id="tick-node">	the node, in pre-order from the thread's own
 *							on, which is 0
 *	<script type="text/plain" id="tick-value">	of the first type; not there if all are 1
 *
 * unit: nanoseconds. each: of so many times one is in the page, which stands for all of them.
 * threads: how many each has. Times are cut to a unit, so what multiples of it bound is exact.
 */
#ifndef EBPROF_HTML_TIMES_H
#define EBPROF_HTML_TIMES_H

#include "base/json.h"
#include "base/outfile.h"
#include "output/calltree.h"
#include "output/html_labels.h"
#include "profile/profile.h"

#define HTML_TIMES_MOST 4194304u	/* in a page */

struct html_times;

/*
 * @tree: calltree_of_all() of @p with the labels' tree. NULL: the profile has no times. Both are to
 * be there as long as it is.
 */
struct html_times *html_times_new(const struct profile *p, const struct html_labels *labels,
				  const struct calltree *tree);
void html_times_free(struct html_times *t);
/* The member of the object that is being written. */
void html_times_describe(struct json *j, const struct html_times *t);
void html_times_write(struct outfile *f, const struct html_times *t);

#endif
