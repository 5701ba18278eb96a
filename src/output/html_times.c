/* SPDX-License-Identifier: MIT */
#include "output/html_times.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "output/order.h"
#include "output/packed.h"

#define UNIT 100000u		/* nanoseconds */
#define SPAN_UNIT 1000u		/* the same, of how long it lasted */

struct moment {
	uint32_t time, node;	/* in units; in pre-order, of the thread's label */
	uint64_t value, span;	/* the latter in SPAN_UNIT; 0: a moment */
};

/* A thread of the profile that has times. */
struct lane {
	uint32_t label;		/* of the labels' threads */
	pid_t pid, tid;
	uint32_t count;
};

struct html_times {
	uint64_t each;
	struct moment *moments;	/* by lane, then by time */
	struct lane *lanes;	/* by label */
	size_t n, nlanes;
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

/* Of each lane every so manieth. */
static void take(struct html_times *t, const struct profile *p, const uint32_t *order,
		 const uint32_t *lanes, const struct calltree *tree, html_times_worth *value)
{
	uint32_t *seen = xcalloc(t->nlanes, sizeof(*seen)), *places = number_nodes(tree);
	struct profile_view v = profile_view(p);
	struct worth worth = worth_of(p, 0);

	for (size_t i = 0; i < v.nticks; i++) {
		const struct tick *tick = &v.ticks[order[i]];
		uint32_t lane = lanes[order[i]];

		if (!tree->at[tick->sample] || seen[lane]++ % t->each)
			continue;
		t->moments[t->n++] = (struct moment){ .time = in_units(tick->time),
						      .node = places[tree->at[tick->sample]],
						      .span = tick->span / SPAN_UNIT,
						      .value = value(&worth, tick) };
		t->lanes[lane].count++;
	}
	worth_free(&worth);
	free(places);
	free(seen);
}

/* The threads of @p in the order of their labels; @lane_of: by thread, in which place it is. */
static void find_lanes(struct html_times *t, const struct profile *p,
		       const struct html_labels *labels, uint32_t *lane_of)
{
	struct profile_view v = profile_view(p);
	uint32_t *label = xcalloc(v.nthreads, sizeof(*label)), *order;

	for (size_t i = 0; i < v.nthreads; i++)
		label[i] = labels->of_thread[i] - (uint32_t)labels->nfunctions;
	order = order_by(label, v.nthreads, labels->nthreads);
	t->nlanes = v.nthreads;
	t->lanes = xcalloc(v.nthreads, sizeof(*t->lanes));
	for (uint32_t i = 0; i < v.nthreads; i++) {
		const struct thread *thread = &v.threads[order[i]];

		lane_of[order[i]] = i;
		t->lanes[i] = (struct lane){ .label = label[order[i]],
					     .pid = v.processes[thread->process].pid,
					     .tid = thread->tid };
	}
	free(order);
	free(label);
}

struct html_times *html_times_new(const struct profile *p, const struct html_labels *labels,
				  const struct calltree *tree, html_times_worth *value)
{
	struct profile_view v = profile_view(p);
	struct html_times *t;
	uint32_t *lane_of, *lanes, *order;

	if (!v.nticks)
		return NULL;
	t = xcalloc(1, sizeof(*t));
	t->each = (v.nticks + HTML_TIMES_MOST - 1) / HTML_TIMES_MOST;
	t->moments = xcalloc(v.nticks, sizeof(*t->moments));
	lane_of = xcalloc(v.nthreads, sizeof(*lane_of));
	find_lanes(t, p, labels, lane_of);
	lanes = xcalloc(v.nticks, sizeof(*lanes));
	for (size_t i = 0; i < v.nticks; i++)
		lanes[i] = lane_of[v.samples[v.ticks[i].sample].thread];
	order = order_by(lanes, v.nticks, t->nlanes);
	take(t, p, order, lanes, tree, value ? value : worth_tick);
	free(order);
	free(lanes);
	free(lane_of);
	return t;
}

void html_times_free(struct html_times *t)
{
	if (!t)
		return;
	free(t->moments);
	free(t->lanes);
	free(t);
}

/* --- Writing. --- */

static void describe_lanes(struct json *j, const struct html_times *t, const char *key,
			   uint64_t (*get)(const struct lane *l))
{
	json_array(j, key);
	for (size_t i = 0; i < t->nlanes; i++)
		if (t->lanes[i].count)
			json_uint(j, NULL, get(&t->lanes[i]));
	json_end(j);
}

static uint64_t label_of(const struct lane *l)
{
	return l->label;
}

static uint64_t pid_of(const struct lane *l)
{
	return (uint64_t)l->pid;
}

static uint64_t tid_of(const struct lane *l)
{
	return (uint64_t)l->tid;
}

static uint64_t count_of(const struct lane *l)
{
	return l->count;
}

void html_times_describe(struct json *j, const struct html_times *t)
{
	json_object(j, "times");
	json_uint(j, "unit", UNIT);
	json_uint(j, "spanUnit", SPAN_UNIT);
	json_uint(j, "each", t->each);
	describe_lanes(j, t, "label", label_of);
	describe_lanes(j, t, "pid", pid_of);
	describe_lanes(j, t, "tid", tid_of);
	describe_lanes(j, t, "count", count_of);
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

static uint64_t span_of(const struct moment *m, const struct moment *before)
{
	(void)before;
	return m->span;
}

/* @before: of the same lane. */
static void write_column(struct outfile *f, const struct html_times *t,
			 const struct html_frame *frame, const char *id,
			 uint64_t (*get)(const struct moment *m, const struct moment *before))
{
	const struct moment *m = t->moments;
	struct packed *packed;

	outfile_printf(f, "%s%s%s", frame->begin, id, frame->middle);
	packed = packed_open(f);
	for (size_t lane = 0; lane < t->nlanes; lane++)
		for (uint32_t i = 0; i < t->lanes[lane].count; i++, m++)
			packed_put(packed, get(m, i ? m - 1 : NULL));
	packed_close(packed);
	outfile_printf(f, "%s", frame->end);
}

void html_times_write(struct outfile *f, const struct html_times *t,
		      const struct html_frame *frame)
{
	size_t ones = 0, moments = 0;

	while (ones < t->n && t->moments[ones].value == 1)
		ones++;
	while (moments < t->n && !t->moments[moments].span)
		moments++;
	write_column(f, t, frame, "tick-time", time_of);
	write_column(f, t, frame, "tick-node", node_of);
	if (ones < t->n)
		write_column(f, t, frame, "tick-value", value_of);
	if (moments < t->n)
		write_column(f, t, frame, "tick-span", span_of);
}
