/* SPDX-License-Identifier: MIT */
#include "output/html_times.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "output/order.h"
#include "output/packed.h"
#include "profile/worth.h"

#define UNIT 100000u		/* nanoseconds */

struct moment {
	uint32_t time, node;	/* in units; in pre-order, of the thread's */
	uint64_t value;
};

struct html_times {
	uint64_t each;
	struct moment *moments;	/* by thread, then by time */
	uint32_t *counts;	/* by thread */
	size_t n, nthreads;
};

/* --- Places in the tree. --- */

struct numbering {
	const struct calltree *tree;
	uint32_t *places;	/* by node: in pre-order, from its thread's on */
	uint32_t next;
};

static void number(void *ctx, const struct calltree_node *n)
{
	struct numbering *numbering = ctx;

	if (!n->parent)
		numbering->next = 0;
	numbering->places[n - numbering->tree->nodes] = numbering->next++;
}

static void leave(void *ctx, const struct calltree_node *n)
{
	(void)ctx;
	(void)n;
}

/* The caller frees it. */
static uint32_t *number_nodes(const struct calltree *tree)
{
	struct numbering n = { .tree = tree,
			       .places = xcalloc(tree->n, sizeof(*n.places)) };

	calltree_walk(tree,
		      &(struct calltree_walker){ .enter = number, .leave = leave, .ctx = &n });
	return n.places;
}

/* --- The times. --- */

static uint32_t in_units(uint64_t time)
{
	return time / UNIT < UINT32_MAX ? (uint32_t)(time / UNIT) : UINT32_MAX;
}

/* Of each thread every so manieth. */
static void take(struct html_times *t, const struct profile *p, const uint32_t *order,
		 const uint32_t *threads, const uint32_t *at, const uint32_t *places)
{
	uint32_t *seen = xcalloc(t->nthreads, sizeof(*seen));
	struct profile_view v = profile_view(p);
	struct worth worth = worth_of(p, 0);

	for (size_t i = 0; i < v.nticks; i++) {
		const struct tick *tick = &v.ticks[order[i]];
		uint32_t thread = threads[order[i]];

		if (!at[tick->sample] || seen[thread]++ % t->each)
			continue;
		t->moments[t->n++] = (struct moment){ .time = in_units(tick->time),
						      .node = places[at[tick->sample]],
						      .value = worth_tick(&worth, tick) };
		t->counts[thread]++;
	}
	worth_free(&worth);
	free(seen);
}

struct html_times *html_times_new(const struct profile *p, const struct html_labels *labels,
				  const struct calltree *tree)
{
	struct profile_view v = profile_view(p);
	struct html_times *t;
	uint32_t *places, *threads, *order;

	if (!v.nticks)
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->nthreads = labels->nthreads;
	t->each = (v.nticks + HTML_TIMES_MOST - 1) / HTML_TIMES_MOST;
	t->moments = xcalloc(v.nticks, sizeof(*t->moments));
	t->counts = xcalloc(t->nthreads, sizeof(*t->counts));
	threads = xcalloc(v.nticks, sizeof(*threads));
	for (size_t i = 0; i < v.nticks; i++)
		threads[i] = labels->of_thread[v.samples[v.ticks[i].sample].thread] -
			     (uint32_t)labels->nfunctions;
	order = order_by(threads, v.nticks, t->nthreads);
	places = number_nodes(tree);
	take(t, p, order, threads, tree->at, places);
	free(places);
	free(order);
	free(threads);
	return t;
}

void html_times_free(struct html_times *t)
{
	if (!t)
		return;
	free(t->moments);
	free(t->counts);
	free(t);
}

/* --- Writing. --- */

void html_times_describe(struct json *j, const struct html_times *t)
{
	json_object(j, "times");
	json_uint(j, "unit", UNIT);
	json_uint(j, "each", t->each);
	json_array(j, "threads");
	for (size_t i = 0; i < t->nthreads; i++)
		json_uint(j, NULL, t->counts[i]);
	json_end(j);
	json_end(j);
}

static uint64_t time_of(const struct moment *m, const struct moment *before)
{
	return before ? m->time - before->time : m->time;
}

static uint64_t node_of(const struct moment *m, const struct moment *before)
{
	(void)before;
	return m->node;
}

static uint64_t value_of(const struct moment *m, const struct moment *before)
{
	(void)before;
	return m->value;
}

/* @before: of the same thread. */
static void write_column(struct outfile *f, const struct html_times *t, const char *id,
			 uint64_t (*get)(const struct moment *m, const struct moment *before))
{
	const struct moment *m = t->moments;
	struct packed *packed;

	outfile_printf(f, "<script type=\"text/plain\" id=\"%s\">", id);
	packed = packed_open(f);
	for (size_t thread = 0; thread < t->nthreads; thread++)
		for (uint32_t i = 0; i < t->counts[thread]; i++, m++)
			packed_put(packed, get(m, i ? m - 1 : NULL));
	packed_close(packed);
	outfile_printf(f, "</script>\n");
}

void html_times_write(struct outfile *f, const struct html_times *t)
{
	size_t ones = 0;

	while (ones < t->n && t->moments[ones].value == 1)
		ones++;
	write_column(f, t, "tick-time", time_of);
	write_column(f, t, "tick-node", node_of);
	if (ones < t->n)
		write_column(f, t, "tick-value", value_of);
}
