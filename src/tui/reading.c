/* SPDX-License-Identifier: MIT */
#include "tui/reading.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"

#define HOT 10			/* % of the function: what stands out */
#define ABOVE 1			/* rows of a page that are none of it: the heading */
#define WHEEL 3
#define ESCAPE 27

static size_t rows_of(const struct browser *b)
{
	return b->layout.status > ABOVE ? (size_t)(b->layout.status - ABOVE) : 1;
}

static void select_row(struct browser *b, long at)
{
	long n = (long)b->reading->rows.n;

	b->read_at = (size_t)(at >= n ? n - 1 : at < 0 ? 0 : at);
}

/* In the middle, so that what is around it is seen. */
static void show_row(struct browser *b, size_t at)
{
	size_t half = rows_of(b) / 2;

	select_row(b, (long)at);
	b->read_top = at > half ? at - half : 0;
}

/* What a row has of the function: of a line all that is in it, of an instruction its own. */
static uint64_t weight(const struct annotation_row *r)
{
	return r->kind == ANNOTATION_LINE ? r->total : r->self;
}

static int is_row(const struct annotation_row *r)
{
	return r->kind == ANNOTATION_LINE || r->kind == ANNOTATION_INSTRUCTION;
}

/* Of lines, where there are any; else of instructions. */
static void show_hottest(struct browser *b)
{
	const struct annotation *a = b->reading;
	size_t best = 0;

	for (size_t i = 0; i < a->rows.n; i++) {
		const struct annotation_row *r = &a->rows.v[i];

		if (is_row(&a->rows.v[best]) && a->rows.v[best].kind != r->kind)
			continue;
		if (is_row(r) && (!is_row(&a->rows.v[best]) ||
				  weight(r) > weight(&a->rows.v[best])))
			best = i;
	}
	show_row(b, best);
}

/* To @line of @file; 0 where it is not there. */
static int show_line(struct browser *b, const char *file, uint32_t line)
{
	const struct annotation *a = b->reading;
	int here = 0;

	for (size_t i = 0; line && i < a->rows.n; i++) {
		const struct annotation_row *r = &a->rows.v[i];

		if (r->kind == ANNOTATION_SOURCE)
			here = !strncmp(r->text, file, strlen(file));
		if (!here || r->kind != ANNOTATION_LINE || r->number != line)
			continue;
		show_row(b, i);
		return 1;
	}
	return 0;
}

int reading_open(struct browser *b, const char *name, const char *module, const char *file,
		 uint32_t line)
{
	const struct profile *p = b->code ? b->code : b->show.profile;
	struct annotated_sums *sums;

	reading_close(b);
	if (!b->annotator)
		return -ENOENT;
	sums = annotated_sums_new(p);
	b->reading = annotator_make(b->annotator, p, sums, name, module);
	annotated_sums_free(sums);
	if (!b->reading)
		return -ENOENT;
	if (!show_line(b, file, line))
		show_hottest(b);
	return 0;
}

int reading_has_code(const struct browser *b)
{
	for (size_t i = 0; i < b->reading->rows.n; i++)
		if (is_row(&b->reading->rows.v[i]))
			return 1;
	return 0;
}

void reading_close(struct browser *b)
{
	annotation_free(b->reading);
	b->reading = NULL;
}

/* --- Keys. ------------------------------------------------------------------------- */

/* To the next row that was sampled, @by 1 or -1. */
static void next_sampled(struct browser *b, long by)
{
	const struct annotation *a = b->reading;

	for (long i = (long)b->read_at + by; i >= 0 && i < (long)a->rows.n; i += by)
		if (is_row(&a->rows.v[i]) && weight(&a->rows.v[i])) {
			select_row(b, i);
			return;
		}
	snprintf(b->message, sizeof(b->message), "no other row was sampled");
}

/* Where the selected instruction jumps to. */
static void follow(struct browser *b)
{
	uint32_t target = b->reading->rows.v[b->read_at].target;

	if (target)
		show_row(b, target);
	else
		snprintf(b->message, sizeof(b->message), "this jumps to no row that is shown");
}

static void move(struct browser *b, long by) { select_row(b, (long)b->read_at + by); }
static void up(struct browser *b) { move(b, -1); }
static void down(struct browser *b) { move(b, 1); }
static void page_up(struct browser *b) { move(b, -(long)rows_of(b)); }
static void page_down(struct browser *b) { move(b, (long)rows_of(b)); }
static void home(struct browser *b) { move(b, -(long)b->read_at); }
static void end(struct browser *b) { move(b, (long)b->reading->rows.n); }
static void next(struct browser *b) { next_sampled(b, 1); }
static void last(struct browser *b) { next_sampled(b, -1); }
static void wheel_up(struct browser *b) { move(b, -WHEEL); }
static void wheel_down(struct browser *b) { move(b, WHEEL); }
static void quit(struct browser *b) { b->quit = 1; }
static void suspend(struct browser *b) { b->suspend = 1; }
static void redraw(struct browser *b) { b->redraw = 1; }

static const struct {
	uint32_t keys[4];
	void (*act)(struct browser *b);
} actions[] = {
	{ { PRESS_UP, 'k' }, up },
	{ { PRESS_DOWN, 'j' }, down },
	{ { PRESS_PAGE_UP, PRESS_CONTROL('b') }, page_up },
	{ { PRESS_PAGE_DOWN, PRESS_CONTROL('f'), ' ' }, page_down },
	{ { PRESS_HOME, 'g' }, home },
	{ { PRESS_END, 'G' }, end },
	{ { 'n', '\t' }, next },
	{ { 'N', PRESS_BACKTAB }, last },
	{ { 'H' }, show_hottest },
	{ { '\r', '\n' }, follow },
	{ { PRESS_WHEEL_UP }, wheel_up },
	{ { PRESS_WHEEL_DOWN }, wheel_down },
	{ { ESCAPE, PRESS_BACKSPACE, 'q' }, reading_close },
	{ { PRESS_CONTROL('c'), 'Q' }, quit },
	{ { PRESS_CONTROL('z') }, suspend },
	{ { PRESS_CONTROL('l') }, redraw },
};

void reading_press(struct browser *b, const struct press_event *press)
{
	if (press->key == PRESS_CLICK && press->row >= ABOVE && press->row < b->layout.status)
		select_row(b, (long)b->read_top + press->row - ABOVE);
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		for (size_t k = 0; k < sizeof(actions[i].keys) / sizeof(actions[i].keys[0]); k++)
			if (actions[i].keys[k] && actions[i].keys[k] == press->key) {
				actions[i].act(b);
				return;
			}
}

/* --- The page. ---------------------------------------------------------------------- */

static enum style style_of(const struct annotation *a, const struct annotation_row *r)
{
	static const enum style styles[] = {
		[ANNOTATION_SOURCE] = STYLE_TITLE,	[ANNOTATION_CODE] = STYLE_TITLE,
		[ANNOTATION_NOTE] = STYLE_DIM,		[ANNOTATION_GAP] = STYLE_DIM,
		[ANNOTATION_LINE] = STYLE_PLAIN,	[ANNOTATION_CHAIN] = STYLE_DIM,
		[ANNOTATION_ORIGIN] = STYLE_DIM,	[ANNOTATION_INSTRUCTION] = STYLE_PLAIN,
	};

	if (is_row(r) && a->total && weight(r) >= a->total / (100 / HOT) + 1)
		return STYLE_ALERT;
	return styles[r->kind];
}

static void scroll(struct browser *b)
{
	size_t rows = rows_of(b), n = b->reading->rows.n;

	if (b->read_top > b->read_at)
		b->read_top = b->read_at;
	if (b->read_at >= b->read_top + rows)
		b->read_top = b->read_at - rows + 1;
	if (b->read_top + rows > n)
		b->read_top = n > rows ? n - rows : 0;
}

static void paint_row(const struct browser *b, struct page *page, size_t i)
{
	const struct annotation *a = b->reading;
	const struct annotation_row *r = &a->rows.v[i], *selected = &a->rows.v[b->read_at];
	enum style style = i == b->read_at			 ? STYLE_SELECTED
			   : selected->target && selected->target == i ? STYLE_MATCH
								       : style_of(a, r);
	char *text = annotation_text(a, r), fitted[4096];

	text_cut(fitted, sizeof(fitted), text, (size_t)page->columns, 0);
	page_put(page, ABOVE + (int)(i - b->read_top), 0, page->columns, style,
		 style == STYLE_SELECTED, fitted);
	free(text);
}

void reading_paint(struct browser *b, struct page *page)
{
	const struct annotation *a = b->reading;
	char *heading = xasprintf("%s%s%s: self %.2f%%, total %.2f%%", a->name,
				  *a->module ? " of " : "", a->module,
				  annotation_percent(a, a->self), annotation_percent(a, a->total));

	page_put(page, 0, 0, page->columns, STYLE_TITLE, 0, heading);
	free(heading);
	scroll(b);
	for (size_t i = b->read_top; i < a->rows.n && i < b->read_top + rows_of(b); i++)
		paint_row(b, page, i);
	page_put(page, b->layout.status, 0, page->columns, *b->message ? STYLE_ALERT : STYLE_DIM, 0,
		 *b->message
			 ? b->message
			 : "Esc back  n next sampled  H hottest  Enter where it jumps  ^C end");
}
