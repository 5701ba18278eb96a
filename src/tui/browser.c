/* SPDX-License-Identifier: MIT */
#include "tui/browser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/across.h"
#include "output/row_order.h"
#include "tui/pair.h"

#define AHEAD 16		/* rows, of which names are fetched into the cache */
#define MATCHED_MOST 2048	/* bytes of a text that are looked at */

void browser_init(struct browser *b)
{
	static const struct user as_we_are;

	*b = (struct browser){ .target = "", .user = &as_we_are };
	b->places[VIEW_CHANGES].column = 2;
}

static void free_pattern(struct browser_pattern *p)
{
	if (*p->text)
		regfree(&p->regex);
	p->text[0] = '\0';
}

void browser_free(struct browser *b)
{
	for (int i = 0; i < VIEWS; i++) {
		hashmap_free(&b->places[i].open);
		vec_free(&b->places[i].rows);
		free(b->places[i].order);
	}
	vec_free(&b->listed);
	free_pattern(&b->search);
	free_pattern(&b->filter);
	free(b->focus_name);
	free(b->focus_module);
	pair_free(b->marks);
	annotation_free(b->reading);
	across_free(b->across);
	profile_free(b->show.profile);
}

/* ASCII alone has cases here. */
static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

/*
 * What is to be found as it is. Letters beyond ASCII have their cases by the locale, which the
 * regular expression knows.
 */
static int is_plain(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c >= 0x80 || strchr(".[]()*+?{}|^$\\", *c))
			return 0;
	return 1;
}

int browser_pattern_set(struct browser_pattern *p, const char *text)
{
	struct browser_pattern made = { 0 };

	if (*text && regcomp(&made.regex, text, REG_EXTENDED | REG_ICASE | REG_NOSUB))
		return -EINVAL;
	snprintf(made.text, sizeof(made.text), "%s", text);
	made.plain = is_plain(text);
	for (size_t i = 0; made.text[i]; i++)
		made.lower[i] = (char)lower(made.text[i]);
	free_pattern(p);
	*p = made;
	return 0;
}

/* @part is in lower case. */
static int contains(const char *text, const char *part)
{
	for (; *text; text++) {
		size_t n = 0;

		if (((*text ^ *part) & ~0x20) != 0)
			continue;
		while (part[n] && lower(text[n]) == part[n])
			n++;
		if (!part[n])
			return 1;
	}
	return 0;
}

static int fits(const struct browser_pattern *p, const char *text)
{
	char start[MATCHED_MOST];

	if (p->plain)
		return contains(text, p->lower);
	snprintf(start, sizeof(start), "%s", text);
	return *text && !regexec(&p->regex, start, 0, NULL, 0);
}

int browser_pattern_matches(const struct browser_pattern *p, const struct row *r)
{
	return *p->text &&
	       (fits(p, r->name) || fits(p, r->module) || fits(p, r->file) || fits(p, r->owner));
}

struct rows_choice browser_choice(const struct browser *b)
{
	return (struct rows_choice){ .tasks = b->tasks,
				     .name = b->focus_name,
				     .module = b->focus_module,
				     .diff = b->diff,
				     .marks = b->marks,
				     .across = b->across };
}

void browser_make_rows(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	const struct rows_choice c = browser_choice(b);

	if (!p->made) {
		vec_free(&p->rows);
		free(p->order);
		p->order = NULL;
		p->rows = row_views[b->view].make(b->show.profile, &c);
		p->made = 1;
	}
	b->rows = p->rows;
	browser_list(b);
}

void browser_show(struct browser *b, const struct window_show *show)
{
	/* Rows point into the old one. */
	b->rows = (row_vec){ 0 };
	b->listed.n = 0;
	for (int i = 0; i < VIEWS; i++)
		b->places[i].made = 0;
	across_free(b->across);
	profile_free(b->show.profile);
	b->show = *show;
	b->across = b->across_key ? across_new(b->show.profile, b->across_key) : NULL;
	browser_make_rows(b);
}

/* 1 for each row that fits the filter; in their order in memory, names fetched some rows before. */
static unsigned char *keep_fitting(const struct browser *b)
{
	unsigned char *keep = xcalloc(b->rows.n + 1, 1);

	for (size_t i = 0; i < b->rows.n; i++) {
		if (i + AHEAD < b->rows.n)
			__builtin_prefetch(b->rows.v[i + AHEAD].name);
		keep[i] = browser_pattern_matches(&b->filter, &b->rows.v[i]);
	}
	return keep;
}

/* ... and for each row of a tree that has one below it. */
static unsigned char *keep_ways(const struct browser *b)
{
	unsigned char *keep = keep_fitting(b);
	uint32_t wanted = 0;			/* the depth at which a row is above a kept one */

	for (size_t i = b->rows.n; i-- > 0;) {
		const struct row *r = &b->rows.v[i];

		keep[i] |= wanted && r->depth < wanted;
		if (keep[i] || r->depth < wanted)
			wanted = r->depth;
	}
	return keep;
}

static void list_tree(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	unsigned char *keep = *b->filter.text ? keep_ways(b) : NULL;
	uint32_t closed = UINT32_MAX;		/* what is deeper is below a row that is not open */

	for (size_t i = 0; i < b->rows.n; i++) {
		const struct row *r = &b->rows.v[i];

		if (keep && !keep[i])
			continue;
		if (r->depth > closed)
			continue;
		closed = keep || hashmap_get(&p->open, r->key) == 1 ? UINT32_MAX : r->depth;
		vec_push(&b->listed, (uint32_t)i);
	}
	free(keep);
}

int browser_is_sorted(const struct browser *b)
{
	return row_views[b->view].sorted && (b->view != VIEW_TASKS || b->tasks != TASKS_TREE);
}

/* The rows in the order of the view's column; NULL: as they were made. */
static const uint32_t *find_order(const struct browser *b, struct browser_place *p)
{
	const struct rows_choice c = browser_choice(b);

	if (!browser_is_sorted(b) || b->rows.n < 2 || b->rows.v[0].heading)
		return NULL;
	if (!p->order || p->ordered != p->column) {
		free(p->order);
		p->order = row_order(&b->rows, &row_columns[rows_columns(b->view, &c)[p->column]]);
		p->ordered = p->column;
	}
	return p->order;
}

static void list_rows(struct browser *b)
{
	const struct browser_place *p = browser_place(b);
	const uint32_t *order = find_order(b, browser_place(b));
	size_t n = b->rows.n;
	unsigned char *keep = b->view != VIEW_FLAME && *b->filter.text ? keep_fitting(b) : NULL;

	vec_reserve(&b->listed, n);
	for (size_t i = 0; i < n; i++) {
		size_t k = p->reverse && order ? n - 1 - i : i;
		uint32_t row = order ? order[k] : (uint32_t)k;

		if (!keep || keep[row] || b->rows.v[row].heading)
			vec_push(&b->listed, row);
	}
	free(keep);
}

/* Which of those that are listed has @key; SIZE_MAX: none. */
static size_t find_listed(const struct browser *b, uint64_t key)
{
	size_t row = 0, at = 0;

	while (row < b->rows.n && b->rows.v[row].key != key)
		row++;
	while (at < b->listed.n && b->listed.v[at] != row)
		at++;
	return at < b->listed.n ? at : SIZE_MAX;
}

void browser_list(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	size_t at = 0;

	b->listed.n = 0;
	if (b->view == VIEW_TREE)
		list_tree(b);
	else
		list_rows(b);
	/* The top stays the top: who selected nothing sees the busiest. */
	if (p->at && p->key)
		at = find_listed(b, p->key);
	browser_select(b, (long)(at < b->listed.n ? at : p->at));
}

const struct row *browser_selected(const struct browser *b)
{
	const struct browser_place *p = &b->places[b->view];

	return p->at < b->listed.n ? &b->rows.v[b->listed.v[p->at]] : NULL;
}

void browser_select(struct browser *b, long at)
{
	struct browser_place *p = browser_place(b);
	const struct row *r;

	if (at >= (long)b->listed.n)
		at = (long)b->listed.n - 1;
	p->at = at < 0 ? 0 : (size_t)at;
	r = browser_selected(b);
	p->key = r ? r->key : 0;
}
