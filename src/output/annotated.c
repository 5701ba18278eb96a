/* SPDX-License-Identifier: MIT */
#include "output/annotated.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"

static int by_line(const void *a, const void *b)
{
	const struct rollup_function *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	return c ? c : (x->line > y->line) - (x->line < y->line);
}

static int by_address(const void *a, const void *b)
{
	const struct annotated_code *x = a, *y = b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int find_function(struct annotated *a, const struct profile *p, const char *name)
{
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);
	int found = 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i].name, name) != 0)
			continue;
		if (!found++)
			a->module = all[i].module;
		a->self += all[i].self;
		a->total += all[i].total;
	}
	free(all);
	return found;
}

static void find_lines(struct annotated *a, const struct profile *p, const char *name)
{
	size_t n;

	a->lines = rollup_lines(p, &n);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(a->lines[i].name, name) && a->lines[i].line)
			a->lines[a->nlines++] = a->lines[i];
	qsort(a->lines, a->nlines, sizeof(*a->lines), by_line);
}

/* The innermost function at a location; "" where it has none. */
static const char *innermost(const struct profile *p, const struct profile_view *v,
			     const struct location *l)
{
	return l->nlines ? rollup_name(p, v->lines[l->first_line].function) : "";
}

/* Rows of one place in the code become one. */
static size_t join(struct annotated_code *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), by_address);
	for (size_t i = 0; i < n; i++)
		if (kept && !by_address(&v[kept - 1], &v[i]))
			v[kept - 1].self += v[i].self;
		else
			v[kept++] = v[i];
	return kept;
}

static void find_code(struct annotated *a, const struct profile *p, const char *name)
{
	struct profile_view v = profile_view(p);
	VEC(struct annotated_code) code = { 0 };

	for (size_t i = 0; i < v.nsamples; i++) {
		uint32_t node = v.samples[i].node;
		const struct location *l = node ? &v.locations[v.nodes[node].location] : NULL;

		if (l && v.values[i] && frame_kinds[l->kind].native &&
		    !strcmp(innermost(p, &v, l), name))
			vec_push(&code, (struct annotated_code){ l->module, l->address, l->kind,
								 v.values[i] });
	}
	a->code = code.v;
	a->ncode = code.n ? join(code.v, code.n) : 0;
}

struct annotated *annotated_new(const struct profile *p, const char *name)
{
	struct annotated *a = xcalloc(1, sizeof(*a));

	if (!find_function(a, p, name)) {
		free(a);
		return NULL;
	}
	find_lines(a, p, name);
	find_code(a, p, name);
	return a;
}

void annotated_free(struct annotated *a)
{
	if (!a)
		return;
	free(a->lines);
	free(a->code);
	free(a);
}
