/* SPDX-License-Identifier: MIT */
#include "output/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "output/calltree.h"
#include "output/rollup.h"

struct pending { uint32_t node, depth; };

struct walk {
	const struct profile *p;
	const struct calltree *tree;
	const uint32_t *comms;		/* by label - nfunctions - 1 */
	double least;			/* samples */
	VEC(struct tree_row) rows;
	/* What is still to be shown, the next one at the end. */
	VEC(struct pending) pending;
};

static const char *name_of(const struct walk *w, uint32_t node)
{
	size_t label = w->tree->nodes[node].label, functions = profile_view(w->p).nfunctions;

	return label > functions ? rollup_comm(w->p, w->comms[label - functions - 1])
				 : rollup_name(w->p, label);
}

/* The last one to be shown first. */
static int by_total(const void *a, const void *b, void *ctx)
{
	const struct pending *x = a, *y = b;
	const struct walk *w = ctx;
	uint64_t tx = w->tree->nodes[x->node].total, ty = w->tree->nodes[y->node].total;

	if (tx != ty)
		return tx < ty ? -1 : 1;
	return strcmp(name_of(w, y->node), name_of(w, x->node));
}

static void push_children(struct walk *w, uint32_t node, uint32_t depth)
{
	size_t first = w->pending.n;

	for (uint32_t c = w->tree->nodes[node].child; c; c = w->tree->nodes[c].next)
		if ((double)w->tree->nodes[c].total >= w->least)
			vec_push(&w->pending, (struct pending){ c, depth });
	if (w->pending.n > first)
		qsort_r(w->pending.v + first, w->pending.n - first, sizeof(*w->pending.v), by_total,
			w);
}

static void push_row(struct walk *w, const struct pending *at)
{
	struct profile_view v = profile_view(w->p);
	const struct calltree_node *node = &w->tree->nodes[at->node];
	struct tree_row row = { .name = name_of(w, at->node),
				.module = "",
				.kind = FRAME_USER,
				.depth = at->depth,
				.self = node->self,
				.total = node->total };

	if (node->label < v.nfunctions) {
		row.module = profile_text(w->p, v.functions[node->label].module);
		row.kind = v.functions[node->label].kind;
	}
	vec_push(&w->rows, row);
}

/* A label for each thread behind those of functions; threads of one comm have one. */
static uint32_t *label_threads(const struct profile *p, uint32_t *comms)
{
	struct profile_view v = profile_view(p);
	uint32_t *labels = xcalloc(v.nthreads, sizeof(*labels)), used = 0;
	struct hashmap ids = { 0 };

	for (size_t i = 0; i < v.nthreads; i++) {
		uint32_t id = hashmap_put(&ids, v.threads[i].comm, used);

		if (id == used)
			comms[used++] = v.threads[i].comm;
		labels[i] = (uint32_t)v.nfunctions + 1 + id;
	}
	hashmap_free(&ids);
	return labels;
}

struct tree_row *tree_rows(const struct profile *p, double percent, size_t *n)
{
	struct profile_view v = profile_view(p);
	uint32_t *comms = xcalloc(v.nthreads, sizeof(*comms)), *threads = label_threads(p, comms);
	struct calltree *tree = calltree_new(p, &(struct calltree_labels){ .threads = threads });
	struct walk w = {
		.p = p, .tree = tree, .comms = comms, .least = percent / 100 * (double)v.total
	};

	push_children(&w, 0, 0);
	while (w.pending.n) {
		struct pending at = w.pending.v[--w.pending.n];

		push_row(&w, &at);
		push_children(&w, at.node, at.depth + 1);
	}
	calltree_free(tree);
	vec_free(&w.pending);
	free(threads);
	free(comms);
	*n = w.rows.n;
	return w.rows.v;
}
