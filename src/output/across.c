/* SPDX-License-Identifier: MIT */
#include "output/across.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "output/labelled.h"
#include "profile/part.h"

#define TEXT_MOST 1024		/* bytes of a value */

struct found {
	uint32_t text;
	uint64_t samples;
};
typedef VEC(struct found) found_vec;

static int by_samples(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return x->samples != y->samples ? (x->samples < y->samples) - (x->samples > y->samples)
					: (x->text > y->text) - (x->text < y->text);
}

/* The values that have samples, in the order of their columns. */
static found_vec find_values(const struct profile *p, const char *key, const uint32_t *of_set,
			     uint32_t ntexts)
{
	uint64_t *sums = labelled_sums(p, of_set, ntexts);
	found_vec found = { 0 };

	for (uint32_t i = 0; i < ntexts; i++)
		if (sums[i])
			vec_push(&found, ((struct found){ i, sums[i] }));
	if (found.n && strcmp(key, ACROSS_FILE))
		qsort(found.v, found.n, sizeof(*found.v), by_samples);
	free(sums);
	return found;
}

static struct profile *part_of(const struct profile *p, const uint32_t *of_set, uint32_t text)
{
	struct profile_view v = profile_view(p);
	uint64_t *values = xcalloc(v.nsamples, sizeof(*values));
	struct profile *part;

	for (size_t i = 0; i < v.nsamples; i++)
		values[i] = of_set[v.samples[i].labels] == text ? v.values[i] : 0;
	part = part_new(p, values, &(struct part_choice){ 0 });
	free(values);
	return part;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Where the ending of a file's name begins: "." of ".pb.gz". */
static const char *ending(const char *name)
{
	const char *dot = *name ? strchr(name + 1, '.') : NULL;

	return dot ? dot : name + strlen(name);
}

/* Headings are what the values do not have in common: folders, and endings of names. */
struct shortened {
	int folders, endings;		/* 1: left out */
};

static struct shortened find_common(const struct strtab *texts, const found_vec *found)
{
	struct shortened s = { found->n > 1, found->n > 1 };
	const char *first = found->n ? last_part(strtab_get(texts, found->v[0].text)) : "";

	for (size_t i = 0; i < found->n; i++) {
		const char *name = last_part(strtab_get(texts, found->v[i].text));

		s.endings &= !strcmp(ending(name), ending(first));
		for (size_t k = 0; k < i; k++)
			s.folders &= strcmp(name,
					    last_part(strtab_get(texts, found->v[k].text))) != 0;
	}
	return s;
}

static void set_heading(struct across_value *value, const char *text, struct shortened s)
{
	const char *from = s.folders ? last_part(text) : text;
	char kept[TEXT_MOST];
	size_t n = s.endings ? (size_t)(ending(last_part(text)) - from) : strlen(from);

	snprintf(kept, sizeof(kept), "%.*s", (int)(n < INT_MAX ? n : INT_MAX), from);
	text_fit(value->heading, sizeof(value->heading), kept, ACROSS_WIDTH);
}

struct across *across_new(const struct profile *p, const char *key)
{
	struct across *a = xcalloc(1, sizeof(*a));
	struct strtab *texts = strtab_new();
	uint32_t *of_set = labelled_sets(p, key, texts);
	found_vec found = find_values(p, key, of_set, strtab_count(texts));
	const struct shortened shortened = find_common(texts, &found);

	for (; a->n < found.n && a->n < ACROSS_MOST; a->n++) {
		uint32_t text = found.v[a->n].text;

		set_heading(&a->values[a->n], strtab_get(texts, text), shortened);
		a->values[a->n].part = part_of(p, of_set, text);
	}
	a->others = found.n - a->n;
	vec_free(&found);
	free(of_set);
	strtab_free(texts);
	return a;
}

void across_free(struct across *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->n; i++)
		profile_free(a->values[i].part);
	free(a);
}

static uint32_t share_of(uint64_t samples, uint64_t all)
{
	return all ? (uint32_t)((double)samples / (double)all * ACROSS_WHOLE + 0.5) : 0;
}

void across_fill(const struct across *a, across_rollup *rollup, int by_total, row_vec *rows)
{
	struct hashmap at = { 0 };

	for (size_t i = 0; a && i < rows->n; i++)
		hashmap_put(&at, rows->v[i].key, (uint32_t)i);
	for (size_t k = 0; a && k < a->n; k++) {
		uint64_t all = profile_view(a->values[k].part).total;
		size_t n;
		struct rollup_function *own = rollup(a->values[k].part, &n);

		for (size_t i = 0; i < n; i++) {
			uint32_t row = hashmap_get(&at, row_of_code(&own[i]).key);

			if (row != HASHMAP_NONE)
				rows->v[row].across[k] =
					share_of(by_total ? own[i].total : own[i].self, all);
		}
		free(own);
	}
	hashmap_free(&at);
}
