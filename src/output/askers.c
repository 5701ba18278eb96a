/* SPDX-License-Identifier: MIT */
#include "output/askers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "output/rollup.h"

/* A function of the kernel, who called it, and how much of the first is the second's. */
struct pair {
	uint32_t asked, asker;
	uint64_t value;
};

struct askers {
	char **texts;		/* by function; NULL: none */
	size_t n;
};

struct sums {
	const struct profile *p;
	struct profile_view v;
	VEC(struct pair) pairs;
	struct hashmap ids;	/* both functions -> index */
	size_t *last;		/* by function: the last sample that it counted for, from 1 on */
};

/* Whether the values are of what programs asked the kernel for, and not of the time on CPUs. */
static int is_of_events(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const struct profile_type_words *words = v.types[v.shown].words;

	return words->role == PROFILE_SAMPLES ? profile_event_words(v.meta->event)->asked
					      : words->asked;
}

static enum frame_kind kind_of(const struct sums *s, uint32_t node)
{
	return s->v.locations[s->v.nodes[node].location].kind;
}

/* Below @node who waited; what is nearer to the leaf is how, and who ended it. */
static uint32_t behind_marks(const struct sums *s, uint32_t node)
{
	uint32_t from = node;

	for (; node; node = s->v.nodes[node].parent)
		if (!frame_is_code(kind_of(s, node)) && s->v.nodes[node].parent)
			from = s->v.nodes[node].parent;
	return from;
}

static void add(struct sums *s, uint32_t asked, uint32_t asker, uint64_t value)
{
	uint32_t id = hashmap_put(&s->ids, (uint64_t)asked << 32 | asker, (uint32_t)s->pairs.n);

	if (id == s->pairs.n)
		vec_push(&s->pairs, (struct pair){ asked, asker, 0 });
	s->pairs.v[id].value += value;
}

/* Each function of the kernel once, however often it is on the stack. */
static void count(struct sums *s, size_t sample)
{
	uint32_t from = behind_marks(s, s->v.samples[sample].node), node = from, asker;
	const struct location *l;

	while (node && frame_kinds[kind_of(s, node)].side != FRAME_PROGRAM)
		node = s->v.nodes[node].parent;
	l = node ? &s->v.locations[s->v.nodes[node].location] : NULL;
	if (!l || !l->nlines)
		return;
	asker = s->v.lines[l->first_line].function;
	for (uint32_t i = from; i != node; i = s->v.nodes[i].parent) {
		l = &s->v.locations[s->v.nodes[i].location];
		for (uint32_t k = 0; k < l->nlines && frame_is_kernel(l->kind); k++) {
			uint32_t asked = s->v.lines[l->first_line + k].function;

			if (s->last[asked] != sample + 1)
				add(s, asked, asker, s->v.values[sample]);
			s->last[asked] = sample + 1;
		}
	}
}

/* Whether @x is to be named before @y, of the same function. */
static int comes_first(const struct sums *s, const struct pair *x, const struct pair *y)
{
	if (x->value != y->value)
		return x->value > y->value;
	return strcmp(rollup_name(s->p, x->asker), rollup_name(s->p, y->asker)) < 0;
}

static void make_texts(struct askers *a, const struct sums *s)
{
	const struct pair **first = xcalloc(a->n, sizeof(const struct pair *));
	size_t *others = xcalloc(a->n, sizeof(*others));

	for (size_t i = 0; i < s->pairs.n; i++) {
		const struct pair *p = &s->pairs.v[i];

		others[p->asked] += first[p->asked] != NULL;
		if (!first[p->asked] || comes_first(s, p, first[p->asked]))
			first[p->asked] = p;
	}
	for (size_t i = 0; i < a->n; i++) {
		const char *name = first[i] ? rollup_name(s->p, first[i]->asker) : NULL;
		size_t size = name ? strlen(name) + 40 : 0;

		if (!name)
			continue;
		a->texts[i] = xcalloc(size, 1);
		snprintf(a->texts[i], size, others[i] ? "%s, +%zu more" : "%s", name, others[i]);
	}
	free(first);
	free(others);
}

struct askers *askers_new(const struct profile *p)
{
	struct sums s = { .p = p, .v = profile_view(p) };
	struct askers *a;

	if (!is_of_events(p))
		return NULL;
	a = xcalloc(1, sizeof(*a));
	a->n = s.v.nfunctions;
	a->texts = xcalloc(a->n, sizeof(*a->texts));
	s.last = xcalloc(a->n, sizeof(*s.last));
	for (size_t i = 0; i < s.v.nsamples; i++)
		if (s.v.values[i])
			count(&s, i);
	make_texts(a, &s);
	vec_free(&s.pairs);
	hashmap_free(&s.ids);
	free(s.last);
	return a;
}

void askers_free(struct askers *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		free(a->texts[i]);
	free(a->texts);
	free(a);
}

const char *askers_text(const struct askers *a, size_t function)
{
	return function < a->n && a->texts[function] ? a->texts[function] : "";
}
