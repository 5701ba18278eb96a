/* SPDX-License-Identifier: MIT */
#include "output/calltree.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "output/order.h"

struct builder {
	struct profile_view view;
	struct calltree_labels labels;
	const uint64_t *values;			/* by sample */
	unsigned char *counts;			/* by sample: whether it is there */
	VEC(struct calltree_node) nodes;
	struct hashmap children;		/* (parent, label) -> node */
	/* Where a node of the profile went; good only for stacks below the same top node. */
	struct place { uint32_t top, node; } *places;
	VEC(uint32_t) path;			/* nodes of the profile still to be placed */
};

static uint32_t child(struct builder *b, uint32_t parent, uint32_t label)
{
	uint32_t next = (uint32_t)b->nodes.n;
	uint32_t id = hashmap_put(&b->children, (uint64_t)parent << 32 | label, next);

	if (id == next)
		vec_push(&b->nodes, (struct calltree_node){ .parent = parent, .label = label });
	return id;
}

/* What @line of the profile's is called; nlines: a frame without one. */
static uint32_t label_of(const struct builder *b, size_t line, int inlined)
{
	const struct profile_view *v = &b->view;
	size_t function = line < v->nlines ? v->lines[line].function : v->nfunctions;
	const uint32_t *labels = inlined ? b->labels.inlined : b->labels.functions;

	if (b->labels.lines)
		return b->labels.lines[line];
	return labels ? labels[function] : (uint32_t)function;
}

/* The node below @parent for @location: what was inlined there lies below what it went into. */
static uint32_t descend(struct builder *b, uint32_t parent, uint32_t location)
{
	const struct location *l = &b->view.locations[location];

	if (!l->nlines)
		return child(b, parent, label_of(b, b->view.nlines, 0));
	for (size_t i = l->nlines; i-- > 0;)
		parent = child(b, parent, label_of(b, l->first_line + i, i + 1 < l->nlines));
	return parent;
}

/* The tree's node for the profile's @node under @top: back to what is known, then forth. */
static uint32_t place(struct builder *b, uint32_t top, uint32_t node)
{
	uint32_t at;

	for (; node && b->places[node].top != top; node = b->view.nodes[node].parent)
		vec_push(&b->path, node);
	at = node ? b->places[node].node : top;
	while (b->path.n) {
		node = b->path.v[--b->path.n];
		at = descend(b, at, b->view.nodes[node].location);
		b->places[node] = (struct place){ .top = top, .node = at };
	}
	return at;
}

/*
 * Every sample to its node, which is left in @at; all of one top node in a row, so that places[]
 * serves.
 */
static void place_samples(struct builder *b, uint32_t *at)
{
	const struct profile_view *v = &b->view;
	const uint32_t *threads = b->labels.threads;
	uint32_t *order;

	for (size_t i = 0; threads && i < v->nsamples; i++)
		if (b->counts[i])
			at[i] = child(b, 0, threads[v->samples[i].thread]);
	order = order_by(at, v->nsamples, b->nodes.n);
	for (size_t i = 0; i < v->nsamples; i++) {
		uint32_t s = order[i];

		if (!b->counts[s])
			continue;
		at[s] = place(b, at[s], v->samples[s].node);
		b->nodes.v[at[s]].self += b->values[s];
	}
	free(order);
}

/* Fills child, next and total. Children come after their parents, so going backwards sums up. */
static void link_nodes(struct calltree_node *nodes, size_t n)
{
	uint32_t *labels = xcalloc(n, sizeof(*labels)), *order;
	size_t most = 0;

	for (size_t i = n; --i > 0;) {
		labels[i] = nodes[i].label;
		if (labels[i] > most)
			most = labels[i];
		nodes[i].total += nodes[i].self;
		nodes[nodes[i].parent].total += nodes[i].total;
	}
	nodes[0].total += nodes[0].self;
	order = order_by(labels, n, most + 1);
	/* The root was ordered under label 0, which makes no difference to the others. */
	for (size_t i = n; i-- > 0;) {
		struct calltree_node *node = &nodes[order[i]], *parent = &nodes[node->parent];

		if (node == nodes)
			continue;
		node->next = parent->child;
		parent->child = order[i];
	}
	free(order);
	free(labels);
}

/* @types: by type, values by sample; who has one of any of them is there. */
static struct calltree *build(const struct profile *p, const struct calltree_labels *labels,
			      const uint64_t *const *types, size_t n)
{
	struct calltree *t = xcalloc(1, sizeof(*t));
	struct builder b = { .view = profile_view(p) };

	if (labels)
		b.labels = *labels;
	if (!b.labels.inlined)
		b.labels.inlined = b.labels.functions;
	b.values = b.labels.values ? b.labels.values : b.view.values;
	b.counts = xcalloc(b.view.nsamples, sizeof(*b.counts));
	for (size_t type = 0; type < n; type++)
		for (size_t i = 0; i < b.view.nsamples; i++)
			b.counts[i] |= types[type][i] != 0;
	b.places = xcalloc(b.view.nnodes, sizeof(*b.places));
	for (size_t i = 0; i < b.view.nnodes; i++)
		b.places[i].top = CALLTREE_NONE;
	vec_push(&b.nodes, (struct calltree_node){ .label = CALLTREE_NONE });
	t->at = xcalloc(b.view.nsamples, sizeof(*t->at));
	place_samples(&b, t->at);
	link_nodes(b.nodes.v, b.nodes.n);
	t->nodes = b.nodes.v;
	t->n = b.nodes.n;
	hashmap_free(&b.children);
	vec_free(&b.path);
	free(b.places);
	free(b.counts);
	return t;
}

struct calltree *calltree_new(const struct profile *p, const struct calltree_labels *labels)
{
	const uint64_t *values = labels ? labels->values : NULL;

	if (!values)
		values = profile_view(p).values;
	return build(p, labels, &values, 1);
}

struct calltree *calltree_of_all(const struct profile *p, const struct calltree_labels *labels)
{
	size_t n = profile_view(p).ntypes;
	const uint64_t **types = xcalloc(n, sizeof(*types));
	struct calltree *t;

	for (size_t i = 0; i < n; i++)
		types[i] = profile_values(p, (uint32_t)i);
	t = build(p, labels, types, n);
	free(types);
	return t;
}

uint64_t *calltree_self(const struct calltree *t, const struct profile *p, uint32_t type)
{
	const uint64_t *values = profile_values(p, type);
	uint64_t *self = xcalloc(t->n, sizeof(*self));

	for (size_t i = 0, n = profile_view(p).nsamples; i < n; i++)
		self[t->at[i]] += values[i];
	return self;
}

void calltree_free(struct calltree *t)
{
	if (!t)
		return;
	free(t->nodes);
	free(t->at);
	free(t);
}

void calltree_walk(const struct calltree *t, const struct calltree_walker *w)
{
	const struct calltree_node *n = &t->nodes[t->nodes[0].child];

	while (n != t->nodes) {
		w->enter(w->ctx, n);
		if (n->child) {
			n = &t->nodes[n->child];
			continue;
		}
		while (n != t->nodes && !n->next) {
			w->leave(w->ctx, n);
			n = &t->nodes[n->parent];
		}
		if (n == t->nodes)
			break;
		w->leave(w->ctx, n);
		n = &t->nodes[n->next];
	}
}
