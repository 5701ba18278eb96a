/* SPDX-License-Identifier: MIT */
#include "output/labelled.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define NUMBER_TEXT 128

/* NULL where the set has none. */
static const struct label *find(const struct profile *p, const struct label_set *set,
				const char *key)
{
	const struct label *labels = profile_view(p).labels + set->first;

	for (uint32_t i = 0; i < set->n; i++)
		if (!strcmp(profile_text(p, labels[i].key), key))
			return &labels[i];
	return NULL;
}

int labelled_has(const struct profile *p, const char *key)
{
	struct profile_view v = profile_view(p);

	for (size_t i = 0; i < v.nlabel_sets; i++)
		if (find(p, &v.label_sets[i], key))
			return 1;
	return 0;
}

/* Its value as a text. */
static uint32_t text_of(const struct profile *p, const struct label *l, struct strtab *texts)
{
	const char *unit;
	char number[NUMBER_TEXT];

	if (!l)
		return strtab_add(texts, LABELLED_NONE);
	if (*profile_text(p, l->text))
		return strtab_add(texts, profile_text(p, l->text));
	unit = profile_text(p, l->unit);
	snprintf(number, sizeof(number), "%" PRId64 "%s%s", l->number, *unit ? " " : "", unit);
	return strtab_add(texts, number);
}

static int by_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->self != y->self ? (x->self < y->self) - (x->self > y->self)
				  : strcmp(x->name, y->name);
}

uint32_t *labelled_sets(const struct profile *p, const char *key, struct strtab *texts)
{
	struct profile_view v = profile_view(p);
	uint32_t *of_set = xcalloc(v.nlabel_sets + 1, sizeof(*of_set));

	for (size_t i = 0; i < v.nlabel_sets; i++)
		of_set[i] = text_of(p, find(p, &v.label_sets[i], key), texts);
	return of_set;
}

uint64_t *labelled_sums(const struct profile *p, const uint32_t *of_set, uint32_t ntexts)
{
	struct profile_view v = profile_view(p);
	uint64_t *sums = xcalloc(ntexts + 1, sizeof(*sums));

	for (size_t i = 0; i < v.nsamples; i++)
		sums[of_set[v.samples[i].labels]] += v.values[i];
	return sums;
}

row_vec labelled_rows(const struct profile *p, const char *key, struct strtab *texts)
{
	uint32_t *of_set = labelled_sets(p, key, texts);
	uint64_t *sums = labelled_sums(p, of_set, strtab_count(texts));
	row_vec rows = { 0 };

	for (uint32_t i = 0; i < strtab_count(texts); i++)
		if (sums[i])
			vec_push(&rows, row_of_task(&(struct rollup_process){
						.comm = strtab_get(texts, i),
						.samples = sums[i] }));
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(*rows.v), by_samples);
	free(sums);
	free(of_set);
	return rows;
}
