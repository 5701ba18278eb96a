/* SPDX-License-Identifier: MIT */
#include "output/annotated.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "base/xalloc.h"

struct annotated_sums {
	const struct profile *p;
	struct rollup_function *functions, *lines;
	size_t nfunctions, nlines;
	uint64_t *self, *total;		/* by location; a sample counts once */
};

/* What is asked for; @functions has a 1 for each that fits, by function of the profile. */
struct wanted {
	const struct annotated_sums *s;
	struct profile_view v;
	const char *name, *module;
	unsigned char *functions;
};

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

static int by_chain(const void *a, const void *b)
{
	const struct annotated_chain *x = a, *y = b;
	int c = strcmp(x->file, y->file);

	c = c ? c : (x->line > y->line) - (x->line < y->line);
	return c ? c : (x->total < y->total) - (x->total > y->total);
}

/* --- Of the profile. -------------------------------------------------------------- */

static void sum_locations(struct annotated_sums *s)
{
	struct profile_view v = profile_view(s->p);
	uint32_t *last = xcalloc(v.nlocations, sizeof(*last));	/* sample + 1 that had it last */

	for (uint32_t i = 0; i < v.nsamples; i++) {
		if (!v.values[i] || !v.samples[i].node)
			continue;
		s->self[v.nodes[v.samples[i].node].location] += v.values[i];
		for (uint32_t node = v.samples[i].node; node; node = v.nodes[node].parent) {
			uint32_t l = v.nodes[node].location;

			if (last[l] != i + 1)
				s->total[l] += v.values[i];
			last[l] = i + 1;
		}
	}
	free(last);
}

struct annotated_sums *annotated_sums_new(const struct profile *p)
{
	struct annotated_sums *s = xcalloc(1, sizeof(*s));
	size_t n = profile_view(p).nlocations;

	s->p = p;
	s->functions = rollup_functions(p, &s->nfunctions);
	s->lines = rollup_lines(p, &s->nlines);
	s->self = xcalloc(n, sizeof(*s->self));
	s->total = xcalloc(n, sizeof(*s->total));
	sum_locations(s);
	return s;
}

void annotated_sums_free(struct annotated_sums *s)
{
	if (!s)
		return;
	free(s->functions);
	free(s->lines);
	free(s->self);
	free(s->total);
	free(s);
}

/* --- Of a function. ---------------------------------------------------------------- */

static int fits(const struct wanted *w, const char *name, const char *module)
{
	return !strcmp(name, w->name) && (!w->module || !strcmp(module, w->module));
}

static int find_function(struct annotated *a, const struct wanted *w)
{
	int found = 0;

	for (size_t i = 0; i < w->s->nfunctions; i++) {
		const struct rollup_function *f = &w->s->functions[i];

		if (!fits(w, f->name, f->module))
			continue;
		if (!found++) {
			a->name = f->name;
			a->module = f->module;
		}
		a->self += f->self;
		a->total += f->total;
	}
	for (size_t i = 0; found && i < w->v.nfunctions; i++)
		w->functions[i] = fits(w, rollup_name(w->s->p, i),
				       profile_text(w->s->p, w->v.functions[i].module));
	return found;
}

static void find_lines(struct annotated *a, const struct wanted *w)
{
	VEC(struct rollup_function) lines = { 0 };

	for (size_t i = 0; i < w->s->nlines; i++) {
		const struct rollup_function *l = &w->s->lines[i];

		if (l->line && fits(w, l->name, l->module))
			vec_push(&lines, *l);
	}
	a->lines = lines.v;
	a->nlines = lines.n;
	if (lines.n)
		qsort(lines.v, lines.n, sizeof(*lines.v), by_line);
}

/* Of a line and the calls around it: equal for two locations where these are the same. */
static uint64_t chain_key(const struct wanted *w, const struct annotated_chain *c)
{
	const struct location *l = &w->v.locations[c->location];

	return hash_pair(hash_pair(hash_bytes(c->file, strlen(c->file)), c->line),
			 hash_bytes(&w->v.lines[l->first_line], l->nlines * sizeof(struct line)));
}

static size_t join_chains(const struct wanted *w, struct annotated_chain *v, size_t n)
{
	struct hashmap places = { 0 };
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t at = hashmap_put(&places, chain_key(w, &v[i]), (uint32_t)kept);

		if (at < kept) {
			v[at].self += v[i].self;
			v[at].total += v[i].total;
		} else {
			v[kept++] = v[i];
		}
	}
	hashmap_free(&places);
	return kept;
}

static void find_chains(struct annotated *a, const struct wanted *w)
{
	VEC(struct annotated_chain) all = { 0 };

	for (uint32_t i = 0; i < w->v.nlocations; i++) {
		const struct location *l = &w->v.locations[i];

		for (uint32_t k = 0; w->s->total[i] && l->nlines > 1 && k < l->nlines; k++) {
			const struct line *line = &w->v.lines[l->first_line + k];

			if (w->functions[line->function] && line->line)
				vec_push(&all, (struct annotated_chain){
					profile_text(w->s->p, line->file), line->line, i,
					k ? 0 : w->s->self[i], w->s->total[i] });
		}
	}
	a->chains = all.v;
	if (!all.n)
		return;
	a->nchains = join_chains(w, all.v, all.n);
	qsort(all.v, a->nchains, sizeof(*all.v), by_chain);
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

static int has_function(const struct wanted *w, const struct location *l)
{
	for (uint32_t i = 0; i < l->nlines; i++)
		if (w->functions[w->v.lines[l->first_line + i].function])
			return 1;
	return 0;
}

static void find_code(struct annotated *a, const struct wanted *w)
{
	VEC(struct annotated_code) code = { 0 };

	for (uint32_t i = 0; i < w->v.nlocations; i++) {
		const struct location *l = &w->v.locations[i];

		if (w->s->self[i] && frame_kinds[l->kind].native && has_function(w, l))
			vec_push(&code, (struct annotated_code){ l->module, l->address, l->kind, i,
								 w->s->self[i] });
	}
	a->code = code.v;
	a->ncode = code.n ? join(code.v, code.n) : 0;
}

/* A node comes after its parent. */
static void find_processes(struct annotated *a, const struct wanted *w)
{
	unsigned char *has = xcalloc(w->v.nnodes, 1);

	a->processes = xcalloc(w->v.nprocesses, sizeof(*a->processes));
	for (size_t i = 1; i < w->v.nnodes; i++)
		has[i] = has[w->v.nodes[i].parent] ||
			 has_function(w, &w->v.locations[w->v.nodes[i].location]);
	for (size_t i = 0; i < w->v.nsamples; i++)
		if (has[w->v.samples[i].node])
			a->processes[w->v.threads[w->v.samples[i].thread].process] +=
				w->v.values[i];
	free(has);
}

struct annotated *annotated_new(const struct annotated_sums *s, const char *name,
				const char *module)
{
	struct annotated *a = xcalloc(1, sizeof(*a));
	struct wanted w = { .s = s, .v = profile_view(s->p), .name = name, .module = module };

	w.functions = xcalloc(w.v.nfunctions + 1, 1);
	if (find_function(a, &w)) {
		find_lines(a, &w);
		find_chains(a, &w);
		find_code(a, &w);
		find_processes(a, &w);
	} else {
		free(a);
		a = NULL;
	}
	free(w.functions);
	return a;
}

void annotated_free(struct annotated *a)
{
	if (!a)
		return;
	free(a->lines);
	free(a->chains);
	free(a->code);
	free(a->processes);
	free(a);
}
