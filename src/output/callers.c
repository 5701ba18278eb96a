/* SPDX-License-Identifier: MIT */
#include "output/callers.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "output/calltree.h"

/* How a node's path stands to the focus; labels of functions. */
struct way {
	uint32_t caller, callee;	/* CALLTREE_NONE: there is none */
	int inside;			/* a frame in focus is at or above the node */
};

static struct way step(const struct calltree *t, size_t node, const struct way *parent,
		       const unsigned char *focus)
{
	const struct calltree_node *n = &t->nodes[node];
	struct way w = *parent;

	if (focus[n->label]) {
		if (!w.inside)
			w.caller = t->nodes[n->parent].label;
		w.inside = 1;
		w.callee = CALLTREE_NONE;
	} else if (w.inside && w.callee == CALLTREE_NONE) {
		w.callee = n->label;
	}
	return w;
}

/* The rows that were gone by, of @n functions and, last, none. */
static struct rollup_function *keep_used(const struct profile *p, const uint64_t *samples, size_t n,
					 size_t *used)
{
	struct rollup_function *rows = xcalloc(n, sizeof(*rows));
	struct profile_view v = profile_view(p);

	*used = 0;
	for (size_t i = 0; i < n; i++) {
		int known = i < v.nfunctions;

		if (!samples[i])
			continue;
		rows[(*used)++] = (struct rollup_function){
			.name = i + 1 == n ? CALLERS_NONE : rollup_name(p, i), .file = "",
			.module = known ? profile_text(p, v.functions[i].module) : "",
			.kind = known ? v.functions[i].kind : i + 1 == n ? FRAME_MARK : FRAME_USER,
			.self = samples[i], .total = samples[i] };
	}
	rollup_sort_by_total(rows, *used);
	return rows;
}

unsigned char *callers_focus(const struct profile *p, callers_match *match, void *ctx)
{
	struct profile_view v = profile_view(p);
	unsigned char *focus = xcalloc(v.nfunctions + 1, 1);
	int found = 0;

	for (size_t i = 0; i <= v.nfunctions; i++) {
		const char *module = i < v.nfunctions ? profile_text(p, v.functions[i].module) : "";

		focus[i] = !!match(ctx, rollup_name(p, i), module);
		found |= focus[i];
	}
	if (found)
		return focus;
	free(focus);
	return NULL;
}

struct named { const char *name, *module; };

static int is_named(void *ctx, const char *name, const char *module)
{
	const struct named *n = ctx;

	return !strcmp(name, n->name) && !strcmp(module, n->module);
}

unsigned char *callers_focus_on(const struct profile *p, const char *name, const char *module)
{
	return callers_focus(p, is_named, &(struct named){ name, module });
}

struct callers *callers_new(const struct profile *p, const unsigned char *focus)
{
	struct callers *c = xcalloc(1, sizeof(*c));
	struct calltree *tree = calltree_new(p, NULL);
	size_t n = profile_view(p).nfunctions + 2, none = n - 1;
	uint64_t *from = xcalloc(n, sizeof(*from)), *to = xcalloc(n, sizeof(*to));
	struct way *ways = xcalloc(tree->n, sizeof(*ways));

	ways[0].caller = ways[0].callee = CALLTREE_NONE;
	/* Parents come before their children. */
	for (size_t i = 1; i < tree->n; i++) {
		const struct calltree_node *node = &tree->nodes[i];
		struct way w = ways[i] = step(tree, i, &ways[node->parent], focus);

		if (!w.inside)
			continue;
		c->total += node->self;
		from[w.caller == CALLTREE_NONE ? none : w.caller] += node->self;
		if (w.callee == CALLTREE_NONE)
			c->self += node->self;
		else
			to[w.callee] += node->self;
	}
	c->callers = keep_used(p, from, n, &c->ncallers);
	c->callees = keep_used(p, to, n, &c->ncallees);
	free(ways);
	free(from);
	free(to);
	calltree_free(tree);
	return c;
}

void callers_free(struct callers *c)
{
	if (!c)
		return;
	free(c->callers);
	free(c->callees);
	free(c);
}
