/* SPDX-License-Identifier: MIT */
/*
 * The times of samples in the flame graph page (html.c), for profiles that have them. Lane by lane,
 * which is a thread of the profile, in the order of their labels, and by time within each:
 *
 *	"times":{"unit":100000,"spanUnit":1000,"each":1,	a member of the profile's JSON
 *		 "label":[L,...],"pid":[...],"tid":[...],"count":[N,...]}
 *	<script type="text/plain" id="tick-time">	units since the lane's one before; the
 *							first: since the recording began
 *	<script type="text/plain" id="tick-node">	the node, in pre-order from that of the
 *							lane's label on, which is 0
 *	<script type="text/plain" id="tick-value">	of the first type; not there if all are 1
 *	<script type="text/plain" id="tick-span">	how long each lasted, as a wait, in its
 *							own unit; 0: a moment; not there if
 *							all are
 *
 * unit, spanUnit: nanoseconds. each: of so many times one is in the page, which stands for all of
 * them. By lane: label, its thread among those of the JSON; pid and tid, 0: not known; how many
 * times it has. Times are cut to a unit, so what multiples of it bound is exact.
 */
#ifndef EBPROF_HTML_TIMES_H
#define EBPROF_HTML_TIMES_H

#include "base/json.h"
#include "base/outfile.h"
#include "output/calltree.h"
#include "output/html_labels.h"
#include "profile/profile.h"
#include "profile/worth.h"

#define HTML_TIMES_MOST 4194304u	/* in a page */

struct html_times;

/* What stands before a column's name, between that and its text, and behind the text. */
struct html_frame { const char *begin, *middle, *end; };

/* What a tick has of the first type. */
typedef uint64_t html_times_worth(const struct worth *w, const struct tick *t);

/*
 * @tree: calltree_of_all() of @p with the labels' tree. @value: NULL: worth_tick(). NULL: the
 * profile has no times.
 */
struct html_times *html_times_new(const struct profile *p, const struct html_labels *labels,
				  const struct calltree *tree, html_times_worth *value);
void html_times_free(struct html_times *t);
/* The member of the object that is being written. */
void html_times_describe(struct json *j, const struct html_times *t);
void html_times_write(struct outfile *f, const struct html_times *t,
		      const struct html_frame *frame);

#endif
