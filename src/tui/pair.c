/* SPDX-License-Identifier: MIT */
#include "tui/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/xalloc.h"
#include "output/callers.h"
#include "output/calltree.h"

/* --- Marks. ---------------------------------------------------------------------- */
static int is_marked(const struct rows_mark *m, const char *name, const char *module)
{
	return m->name && !strcmp(m->name, name) && !strcmp(m->module, module);
}

int pair_find(const struct rows_mark marks[2], const char *name, const char *module)
{
	for (int i = 0; i < 2; i++)
		if (is_marked(&marks[i], name, module))
			return i;
	return -1;
}

static void unmark(struct rows_mark *m)
{
	free(m->name);
	free(m->module);
	*m = (struct rows_mark){ NULL, NULL };
}

int pair_toggle(struct rows_mark marks[2], const char *name, const char *module)
{
	int at = pair_find(marks, name, module), place = marks[0].name ? 1 : 0;

	if (at >= 0) {
		unmark(&marks[at]);
		return 0;
	}
	unmark(&marks[place]);
	marks[place] = (struct rows_mark){ xstrdup(name), xstrdup(module) };
	return 1;
}

void pair_free(struct rows_mark marks[2])
{
	unmark(&marks[0]);
	unmark(&marks[1]);
}

/* --- Rows. ----------------------------------------------------------------------- */
static struct row plain_row(uint64_t key, const char *name, int heading)
{
	return (struct row){ .key = key,
			     .name = name,
			     .module = "",
			     .file = "",
			     .owner = "",
			     .asker = "",
			     .kind = FRAME_MARK,
			     .heading = heading };
}

/* Samples with both functions on the stack; @focus: by function. */
static uint64_t count_both(const struct profile *p, unsigned char *const focus[2])
{
	struct calltree *t = calltree_new(p, NULL);
	unsigned char *met = xcalloc(t->n, 1);
	uint64_t both = 0;

	/* Parents come before their children. */
	for (size_t i = 1; i < t->n; i++) {
		const struct calltree_node *n = &t->nodes[i];

		met[i] = met[n->parent];
		for (int k = 0; k < 2; k++)
			met[i] |= (unsigned char)((focus[k] && focus[k][n->label]) << k);
		both += met[i] == 3 ? n->self : 0;
	}
	free(met);
	calltree_free(t);
	return both;
}

static int by_either(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	uint64_t m = a->self > a->total ? a->self : a->total,
		 n = b->self > b->total ? b->self : b->total;

	return m != n ? (m < n) - (m > n) : strcmp(a->name, b->name);
}

/* What is on one way of A, @all[0], and of B: callers or callees. */
static void add_ways(row_vec *rows, const char *title, struct rollup_function *const all[2],
		     const size_t n[2])
{
	uint64_t side = hash_bytes(title, strlen(title));
	size_t first = rows->n + 1;
	struct hashmap known = { 0 };

	vec_push(rows, plain_row(side, title, 1));
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < n[k]; i++) {
			const struct rollup_function *f = &all[k][i];
			uint64_t key = hash_pair(side ^ hash_bytes(f->name, strlen(f->name)),
						 hash_bytes(f->module, strlen(f->module)));
			uint32_t at = hashmap_put(&known, key, (uint32_t)rows->n);

			if (at == rows->n) {
				vec_push(rows, row_of_code(f));
				rows->v[at].key = key;
				rows->v[at].self = rows->v[at].total = 0;
			}
			*(k ? &rows->v[at].total : &rows->v[at].self) += f->total;
		}
	hashmap_free(&known);
	if (rows->n > first)
		qsort(rows->v + first, rows->n - first, sizeof(*rows->v), by_either);
}

static void add_value(row_vec *rows, const char *name, uint64_t a, uint64_t b)
{
	struct row row = plain_row(hash_bytes(name, strlen(name)), name, 0);

	row.self = a;
	row.total = b;
	vec_push(rows, row);
}

row_vec pair_rows(const struct profile *p, const struct rows_choice *c)
{
	static const struct callers none;
	unsigned char *focus[2];
	struct callers *made[2];
	const struct callers *found[2];
	uint64_t both;
	row_vec rows = { 0 };

	for (int i = 0; i < 2; i++) {
		focus[i] = callers_focus_on(p, c->marks[i].name, c->marks[i].module);
		made[i] = focus[i] ? callers_new(p, focus[i]) : NULL;
		found[i] = made[i] ? made[i] : &none;
	}
	both = count_both(p, focus);
	for (int i = 0; i < 2; i++) {
		struct row row = plain_row((uint64_t)i + 1, c->marks[i].name, 0);

		row.module = c->marks[i].module;
		row.kind = FRAME_USER;
		*(i ? &row.total : &row.self) = found[i]->total;
		vec_push(&rows, row);
	}
	vec_push(&rows, plain_row(3, "what they have:", 1));
	add_value(&rows, "by itself", found[0]->self, found[1]->self);
	add_value(&rows, "with what it calls", found[0]->total, found[1]->total);
	add_value(&rows, "with both on the stack", both, both);
	add_ways(&rows, "callers:",
		 (struct rollup_function *[2]){ found[0]->callers, found[1]->callers },
		 (size_t[2]){ found[0]->ncallers, found[1]->ncallers });
	add_ways(&rows, "callees:",
		 (struct rollup_function *[2]){ found[0]->callees, found[1]->callees },
		 (size_t[2]){ found[0]->ncallees, found[1]->ncallees });
	for (int i = 0; i < 2; i++) {
		callers_free(made[i]);
		free(focus[i]);
	}
	return rows;
}
