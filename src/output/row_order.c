/* SPDX-License-Identifier: MIT */
#include "output/row_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/xalloc.h"

#define WORD	8		/* bytes of texts that are compared at once */
#define FEW	256	/* of so many keys each text is compared as a whole */

#define AHEAD	16		/* so far ahead texts are fetched into the cache */

/* Keys [first, first + n), whose texts have @depth bytes in common. */
struct run { size_t first, n, depth; };

struct texts {
	const char **text;		/* by row */
	struct sort_key *keys;
	VEC(struct run) runs;		/* still to be sorted */
};

/* The next bytes of a text, so that what comes first is less; 0 behind its end. */
static uint64_t word_of(const char *text)
{
	uint64_t word = 0;

	for (unsigned int i = 0; i < WORD && text[i]; i++)
		word |= (uint64_t)(unsigned char)text[i] << (56 - 8 * i);
	return word;
}

static int by_text(const void *x, const void *y, void *ctx)
{
	const struct sort_key *a = x, *b = y;
	const struct texts *t = ctx;
	int c = strcmp(t->text[a->place], t->text[b->place]);

	return c ? c : (a->key > b->key) - (a->key < b->key);
}

static void sort_few(struct texts *t, const struct run *r)
{
	struct sort_key *keys = t->keys + r->first;

	for (size_t i = 0; i < r->n; i++)
		keys[i].key = i;
	qsort_r(keys, r->n, sizeof(*keys), by_text, t);
}

static int is_one_text(const struct texts *t, const struct run *r)
{
	const struct sort_key *keys = t->keys + r->first;
	size_t i = 1;

	while (i < r->n && t->text[keys[i].place] == t->text[keys[0].place])
		i++;
	return i >= r->n;
}

/* Those that have a word in common are to be sorted by what is behind it, unless they end there. */
static void find_runs(struct texts *t, const struct run *r)
{
	const struct sort_key *keys = t->keys + r->first;
	struct run next = { .depth = r->depth + WORD };

	for (size_t i = 0, end; i < r->n; i = end) {
		for (end = i + 1; end < r->n && keys[end].key == keys[i].key; end++)
			;
		next.first = r->first + i;
		next.n = end - i;
		if (next.n > 1 && keys[i].key & 0xff)
			vec_push(&t->runs, next);
	}
}

static void sort_run(struct texts *t, const struct run *r)
{
	size_t bytes = r->n * sizeof(struct sort_key);
	struct sort_key *keys = xreallocarray(NULL, r->n, sizeof(*keys));

	for (size_t i = 0; i < r->n; i++) {
		if (i + AHEAD < r->n)
			__builtin_prefetch(t->text[t->keys[r->first + i + AHEAD].place] + r->depth);
		keys[i] = t->keys[r->first + i];
		keys[i].key = word_of(t->text[keys[i].place] + r->depth);
	}
	keys = sort_keys(keys, r->n);
	memcpy(t->keys + r->first, keys, bytes);
	free(keys);
	find_runs(t, r);
}

static void sort_texts(struct sort_key *keys, const row_vec *rows, const struct row_column *c)
{
	struct texts t = { .keys = keys,
			   .text = xreallocarray(NULL, rows->n, sizeof(*t.text)) };

	for (size_t i = 0; i < rows->n; i++)
		t.text[i] = c->order(&rows->v[i]);
	vec_push(&t.runs, (struct run){ .n = rows->n });
	while (t.runs.n) {
		struct run r = t.runs.v[--t.runs.n];

		if (is_one_text(&t, &r))
			continue;
		if (r.n < FEW)
			sort_few(&t, &r);
		else
			sort_run(&t, &r);
	}
	vec_free(&t.runs);
	free(t.text);
}

uint32_t *row_order(const row_vec *rows, const struct row_column *c)
{
	struct sort_key *keys = xreallocarray(NULL, rows->n, sizeof(*keys));
	uint32_t *order = xreallocarray(NULL, rows->n, sizeof(*order));

	for (size_t i = 0; i < rows->n; i++)
		keys[i] = (struct sort_key){ .key = row_rank(c, &rows->v[i]),
					     .place = (uint32_t)i };
	keys = sort_keys(keys, rows->n);
	if (c->order && rows->n)
		sort_texts(keys, rows, c);
	for (size_t i = 0; i < rows->n; i++)
		order[i] = keys[i].place;
	free(keys);
	return order;
}
