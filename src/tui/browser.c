/* SPDX-License-Identifier: MIT */
#include "tui/browser.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	}
	vec_free(&b->listed);
	free_pattern(&b->search);
	free_pattern(&b->filter);
	free(b->focus_name);
	free(b->focus_module);
	profile_free(b->show.profile);
}

/* Letters beyond ASCII have their cases by the locale, which the regular expression knows. */
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
	free_pattern(p);
	*p = made;
	return 0;
}

static int fits(const struct browser_pattern *p, const char *text)
{
	char start[MATCHED_MOST];

	if (p->plain)
		return strcasestr(text, p->text) != NULL;
	snprintf(start, sizeof(start), "%s", text);
	return *text && !regexec(&p->regex, start, 0, NULL, 0);
}

int browser_pattern_matches(const struct browser_pattern *p, const struct row *r)
{
	return *p->text &&
	       (fits(p, r->name) || fits(p, r->module) || fits(p, r->file) || fits(p, r->owner));
}

void browser_make_rows(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	const struct rows_choice c = { .tasks = b->tasks,
				       .name = b->focus_name,
				       .module = b->focus_module,
				       .diff = b->diff };

	if (!p->made) {
		vec_free(&p->rows);
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
	profile_free(b->show.profile);
	b->show = *show;
	browser_make_rows(b);
}

static int by_column(const void *x, const void *y, void *ctx)
{
	const struct browser *b = ctx;
	const struct browser_place *p = &b->places[b->view];
	const struct row_column *column =
		&row_columns[rows_columns(b->view, b->tasks)[p->column]];
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	int c = row_compare(column, &b->rows.v[i], &b->rows.v[k]);

	if (p->reverse)
		c = -c;
	/* Rows are made in an order that is good where the column says nothing. */
	return c ? c : (i > k) - (i < k);
}

/* 1 for each row of a tree that fits the filter, or has one that does below it. */
static unsigned char *keep_ways(const struct browser *b)
{
	unsigned char *keep = xcalloc(b->rows.n, 1);
	uint32_t wanted = 0;			/* the depth at which a row is above a kept one */

	for (size_t i = b->rows.n; i-- > 0;) {
		const struct row *r = &b->rows.v[i];

		keep[i] = (wanted && r->depth < wanted) || browser_pattern_matches(&b->filter, r);
		if (keep[i])
			wanted = r->depth;
		else if (r->depth < wanted)
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

void browser_list(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	size_t at = 0;

	b->listed.n = 0;
	if (b->view == VIEW_TREE)
		list_tree(b);
	else
		for (size_t i = 0; i < b->rows.n; i++)
			if (b->view == VIEW_FLAME || !*b->filter.text || b->rows.v[i].heading ||
			    browser_pattern_matches(&b->filter, &b->rows.v[i]))
				vec_push(&b->listed, (uint32_t)i);
	if (browser_is_sorted(b) && b->listed.n > 1 && !b->rows.v[0].heading)
		qsort_r(b->listed.v, b->listed.n, sizeof(*b->listed.v), by_column, b);
	/* The top stays the top: who selected nothing sees the busiest. */
	while (p->at && p->key && at < b->listed.n && b->rows.v[b->listed.v[at]].key != p->key)
		at++;
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
