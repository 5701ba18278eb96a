/* SPDX-License-Identifier: MIT */
#include "tui/paint.h"

#include <stdio.h>
#include <string.h>

#include "base/label.h"
#include "base/text.h"
#include "output/views.h"
#include "tui/actions.h"
#include "tui/flame.h"
#include "tui/heading.h"
#include "tui/pair.h"
#include "tui/reading.h"

#define GAP 1			/* blanks between columns */
#define BARS_FROM 15		/* rows of a page that has the line of bars */
#define TITLES_FROM 76		/* columns of a page on which all views have their titles */
#define HELP_WIDTH 60		/* of a line of help */
#define KEYS_WIDTH 14

static struct browser_layout lay_out(const struct browser *b, const struct page *page)
{
	struct browser_layout l = {
		.bars = -1, .header = -1, .columns = page->columns, .status = page->rows - 1
	};
	int row = 1;

	if (b->live && b->show.rate && page->rows >= BARS_FROM)
		l.bars = row++;
	l.tabs = row++;
	if (row_views[b->view].columns)
		l.header = row++;
	l.first = row;
	l.rows = l.status > row ? l.status - row : 0;
	return l;
}

/* What became slower stands out, and what may be chance does not. */
static enum style style_of_change(const struct row *r)
{
	const struct diff_row *d = r->own && r->own->significant ? r->own : r->all;

	if (!d || !d->significant)
		return STYLE_DIM;
	return diff_change(d) > 0 ? STYLE_ALERT : STYLE_TITLE;
}

static enum style style_of(enum frame_kind kind)
{
	static const enum style styles[] = {
		[FRAME_NO_CODE] = STYLE_DIM,
		[FRAME_PROGRAM] = STYLE_PLAIN,
		[FRAME_IN_KERNEL] = STYLE_KERNEL,
	};

	return styles[frame_kinds[kind].side];
}

/* --- Above the rows. ------------------------------------------------------------- */
static void paint_bars(const struct browser *b, struct page *page, int row)
{
	static const char *const blocks[] = {
		"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
	};
	int column = 4, room = page->columns - 40;
	size_t n = b->nsteps, first = room > 0 && n > (size_t)room ? n - (size_t)room : 0;
	uint64_t lost = 0, truncated = 0;
	char text[100];

	page_put(page, row, 0, 4, STYLE_DIM, 0, "CPU");
	for (size_t i = first; i < n; i++) {
		const struct window_step *s = &b->steps[i];

		page_put(page, row, column++, 1,
			 s->lost	? STYLE_ALERT
			 : s->truncated ? STYLE_KERNEL
					: STYLE_PLAIN,
			 0, blocks[(int)(s->busy * 7.99)]);
		lost += s->lost;
		truncated += s->truncated;
	}
	if (!n)
		return;
	snprintf(text, sizeof(text), "%3.0f%%  truncated %llu  lost %llu",
		 100 * b->steps[n - 1].busy, (unsigned long long)truncated,
		 (unsigned long long)lost);
	page_put(page, row, column + 1, page->columns, lost ? STYLE_ALERT : STYLE_DIM, 0, text);
}

/*
 * The title of view @i, and where it ends; on a narrow page only the one that is shown has its
 * title.
 */
static int tab_text(const struct browser *b, int i, int column, char *text, size_t size)
{
	const char *title = rows_title(i, b->tasks);

	if (b->layout.columns >= TITLES_FROM || (enum view)i == b->view)
		snprintf(text, size, " %d %s ", i + 1, title);
	else
		snprintf(text, size, " %d ", i + 1);
	return column + (int)strlen(text);
}

int paint_tab_at(const struct browser *b, int column)
{
	char text[32];
	int end = 0;

	for (int i = 0; i < browser_views(b); i++) {
		end = tab_text(b, i, end, text, sizeof(text));
		if (column < end)
			return i;
	}
	return -1;
}

static void paint_tabs(const struct browser *b, struct page *page)
{
	char text[32];
	int column = 0;

	for (int i = 0; i < browser_views(b); i++) {
		int end = tab_text(b, i, column, text, sizeof(text));

		page_put(page, b->layout.tabs, column, end - column,
			 (enum view)i == b->view ? STYLE_SELECTED : STYLE_TAB, 0, text);
		column = end;
	}
}

/* --- Rows. ------------------------------------------------------------------------- */

/* What share of one CPU a sample stands for: where samples are taken at a rate, of CPU time. */
static double cpu_share_of(const struct browser *b)
{
	struct profile_view v = profile_view(b->show.profile);
	uint64_t span = b->show.span ? b->show.span : v.meta->duration;
	int is_cpu = v.types[0].words->role == PROFILE_SAMPLES && v.meta->frequency;

	return is_cpu && span ? 100.0 * 1e9 / (double)v.meta->frequency / (double)span : 0;
}

static struct row_sums sums_of(const struct browser *b)
{
	return (struct row_sums){ .samples = profile_view(b->show.profile).total,
				  .cpu_share = cpu_share_of(b),
				  .across = b->across,
				  .units = units_fitting(b->show.profile, ROW_VALUE_WIDTH) };
}

/* Calls @fn for each column that the profile has and the page has room for, with its place. */
static void each_column(const struct browser *b,
			void (*fn)(void *ctx, int i, const struct row_column *c, int x, int width),
			void *ctx)
{
	const struct rows_choice choice = browser_choice(b);
	const enum row_column_id *columns = row_views[b->view].columns
						    ? rows_columns(b->view, &choice)
						    : NULL;
	const struct row_sums sums = { .cpu_share = cpu_share_of(b), .across = b->across };
	int x = 0;

	for (int i = 0; columns && columns[i] != COLUMNS; i++) {
		const struct row_column *c = &row_columns[columns[i]];
		int width = c->page ? c->page : b->layout.columns - x;

		if (c->least > b->layout.columns || !row_has_column(c, &sums))
			continue;
		fn(ctx, i, c, x, width);
		x += width + GAP;
	}
}

struct painter {
	struct browser *b;
	struct page *page;
	const struct row *row;
	struct row_sums sums;
	int y, selected;
	enum style style;
	int at, found;			/* for paint_column_at() */
};

static void paint_title(void *ctx, int i, const struct row_column *c, int x, int width)
{
	struct painter *p = ctx;
	int sorted = row_views[p->b->view].sorted && browser_place(p->b)->column == i;
	enum style style = sorted ? STYLE_TITLE : STYLE_HEADER;

	if (!c->text)
		page_put_right(p->page, p->y, x, width, style, row_heading(c, &p->sums));
	else
		page_put(p->page, p->y, x, sorted ? (int)strlen(c->heading) : width, style, 1,
			 c->heading);
}

/*
 * A tree's names are indented, and say whether there is more below; what does not fit is left out
 * of the name.
 */
static void indent(const struct browser *b, const struct row *r, int width, char *text, size_t size)
{
	int depth = (int)r->depth, most = width / 4, used;
	int open = r->parent &&
		   (hashmap_get(&b->places[b->view].open, r->key) == 1 || *b->filter.text);

	if (depth <= most)
		used = snprintf(text, size, "%*s%s ", 2 * depth, "",
				open	    ? "-"
				: r->parent ? "+"
					    : " ");
	else
		used = snprintf(text, size, "%*s+%d %s ", 2 * most, "", depth - most,
				open	    ? "-"
				: r->parent ? "+"
					    : " ");
	label_fit(text + used, size - (size_t)used, r->name,
		  width > used ? (size_t)(width - used) : 0);
}

/* In the gap before its name. */
static void paint_mark(const struct painter *p, const struct row_column *c, int x)
{
	int mark = c->page ? -1 : pair_find(p->b->marks, p->row->name, p->row->module);

	if (mark >= 0)
		page_put(p->page, p->y, x - GAP, GAP, STYLE_TITLE, 0, mark ? "B" : "A");
}

static void paint_cell(void *ctx, int i, const struct row_column *c, int x, int width)
{
	const struct painter *p = ctx;
	char buf[TABLE_CELL_MAX], text[4096];
	const char *cell = row_cell(c, p->row, &p->sums, buf);

	(void)i;
	if (!c->text) {
		page_put_right(p->page, p->y, x, width, p->selected ? STYLE_SELECTED : STYLE_PLAIN,
			       cell);
		return;
	}
	if (row_views[p->b->view].tree) {
		indent(p->b, p->row, width, text, sizeof(text));
	} else {
		label_fit(text, sizeof(text), cell, (size_t)width);
	}
	page_put(p->page, p->y, x, width, p->style, p->selected, text);
	paint_mark(p, c, x);
}

static void paint_row(struct painter *p)
{
	if (p->selected)
		page_put(p->page, p->y, 0, p->page->columns, STYLE_SELECTED, 1, "");
	p->style = p->selected					    ? STYLE_SELECTED
		   : browser_pattern_matches(&p->b->search, p->row) ? STYLE_MATCH
		   : p->row->own || p->row->all			    ? style_of_change(p->row)
								    : style_of(p->row->kind);
	if (p->row->heading)
		page_put(p->page, p->y, 0, p->page->columns,
			 p->selected ? STYLE_SELECTED : STYLE_TITLE, 0, p->row->name);
	else
		each_column(p->b, paint_cell, p);
}

static void scroll(struct browser *b)
{
	struct browser_place *place = browser_place(b);
	size_t rows = (size_t)b->layout.rows;

	if (place->top > place->at)
		place->top = place->at;
	if (rows && place->at >= place->top + rows)
		place->top = place->at - rows + 1;
	if (place->top + rows > b->listed.n)
		place->top = b->listed.n > rows ? b->listed.n - rows : 0;
}

static void paint_rows(struct browser *b, struct page *page)
{
	struct browser_place *place = browser_place(b);
	struct painter p = { .b = b, .page = page, .y = b->layout.header, .sums = sums_of(b) };

	page_put(page, p.y, 0, page->columns, STYLE_HEADER, 1, "");
	each_column(b, paint_title, &p);
	scroll(b);
	for (int i = 0; i < b->layout.rows && place->top + (size_t)i < b->listed.n; i++) {
		p.row = &b->rows.v[b->listed.v[place->top + (size_t)i]];
		p.y = b->layout.first + i;
		p.selected = place->top + (size_t)i == place->at;
		paint_row(&p);
	}
	if (!b->listed.n)
		page_put(page, b->layout.first, 0, page->columns, STYLE_DIM, 0,
			 b->rows.n ? "no row matches the filter; Esc removes it"
				   : "no samples yet");
}

static void find_column(void *ctx, int i, const struct row_column *c, int x, int width)
{
	struct painter *p = ctx;

	(void)c;
	if (p->at >= x && p->at < x + width)
		p->found = i;
}

int paint_column_at(const struct browser *b, int column)
{
	struct painter p = { .at = column, .found = -1 };

	each_column(b, find_column, &p);
	return p.found;
}

/* --- Over the rows. ------------------------------------------------------------------ */
static void paint_help(struct browser *b, struct page *page)
{
	int across = page->columns / HELP_WIDTH > 0 ? page->columns / HELP_WIDTH : 1,
	    width = page->columns / across;
	int rows = page->rows - 1, n = 0;
	size_t first = (size_t)b->help - 1;
	struct action_help h;

	page_begin(page, page->rows, page->columns);
	for (; n < rows * across && (h = actions_help(first + (size_t)n)).keys; n++) {
		int x = n / rows * width;

		page_put(page, n % rows, x, KEYS_WIDTH, STYLE_TITLE, 0, h.keys);
		page_put(page, n % rows, x + KEYS_WIDTH, width - KEYS_WIDTH - 1, STYLE_PLAIN, 0,
			 h.help);
	}
	b->help_next = actions_help(first + (size_t)n).keys ? b->help + n : 0;
	page_put(page, page->rows - 1, 0, page->columns, STYLE_DIM, 0,
		 b->help_next ? "any key: more, q: back" : "any key: back");
}

/* @text over as many lines as it takes. Returns the row after it. */
static int paint_wrapped(struct page *page, int row, const char *label, const char *text)
{
	char piece[1024];

	page_put(page, row, 0, page->columns, STYLE_TITLE, 1, label);
	for (row++; *text && row < page->rows; row++) {
		size_t n = 0;

		/* As many characters as fit; one is at least one byte. */
		do {
			n++;
			while (((unsigned char)text[n] >> 6) == 2)
				n++;
			snprintf(piece, sizeof(piece), "%.*s", (int)n, text);
		} while (text[n] && n + 8 < sizeof(piece) &&
			 (int)text_width(piece) + 2 <= page->columns);
		page_put(page, row, 0, page->columns, STYLE_PLAIN, 1, piece);
		text += n;
	}
	return row;
}

static void paint_detail(const struct browser *b, struct page *page)
{
	const struct row *r = browser_selected(b);
	const struct row_sums s = sums_of(b);
	char text[256], self[TABLE_CELL_MAX], total[TABLE_CELL_MAX];
	int row = 0;

	if (!r)
		return;
	page_begin(page, page->rows, page->columns);
	units_print(&s.units, r->self, self, sizeof(self));
	units_print(&s.units, r->total, total, sizeof(total));
	snprintf(text, sizeof(text), "self %.2f%% (%s%s%s), total %.2f%% (%s%s%s)",
		 row_percent(r->self, s.samples), self, *s.units.word ? " " : "", s.units.word,
		 row_percent(r->total, s.samples), total, *s.units.word ? " " : "", s.units.word);
	row = paint_wrapped(page, row, "name", r->name);
	row = paint_wrapped(
		page, row,
		profile_text(b->show.profile, profile_view(b->show.profile).types[0].name), text);
	if (*r->module)
		row = paint_wrapped(page, row, "image", r->module);
	snprintf(text, sizeof(text), r->pid ? "%.200s/%d" : "%.200s", r->owner, r->pid);
	if (*r->owner)
		row = paint_wrapped(page, row, "process", text);
	if (*r->file)
		paint_wrapped(page, row, "file", r->file);
	page_put(page, page->rows - 1, 0, page->columns, STYLE_DIM, 1, "any key: back");
}

/* --- Below the rows. ------------------------------------------------------------------- */
static void paint_status(const struct browser *b, struct page *page)
{
	static const char *const asks[] = { "", "/", "filter: ", "save as: " };
	int row = b->layout.status;
	char text[2 * BROWSER_TEXT_MAX];

	if (b->prompt) {
		snprintf(text, sizeof(text), "%s%s", asks[b->prompt], b->typed);
		page_put(page, row, 0, page->columns, STYLE_PLAIN, 0, text);
		page->cursor_row = row;
		page->cursor_column = (int)text_width(text) < page->columns ? (int)text_width(text)
									    : page->columns - 1;
		return;
	}
	if (*b->message) {
		page_put(page, row, 0, page->columns, STYLE_ALERT, 0, b->message);
		return;
	}
	snprintf(text, sizeof(text), "%s%s%s%s%s%s", b->paused ? "[paused] " : "",
		 b->choice.no_kernel ? "[without kernel] " : "",
		 b->choice.no_user ? "[without programs] " : "", *b->filter.text ? "[filter: " : "",
		 b->filter.text, *b->filter.text ? "] " : "");
	page_put(page, row, 0, page->columns, STYLE_TITLE, 0, text);
	page_put(page, row, (int)text_width(text), page->columns, STYLE_DIM, 0,
		 page->columns < TITLES_FROM
			 ? "? keys  q end"
			 : "? keys  1-7 views  Enter source  / search  f filter  s save  q end");
}

void paint_page(struct browser *b, struct page *page)
{
	char text[512];

	b->layout = lay_out(b, page);
	if (b->help) {
		paint_help(b, page);
		return;
	}
	if (b->detail) {
		paint_detail(b, page);
		return;
	}
	if (b->reading) {
		reading_paint(b, page);
		return;
	}
	heading_text(text, sizeof(text), &b->show, page->columns < TITLES_FROM ? NULL : b->target,
		     b->since_start, b->live);
	page_put(page, 0, 0, page->columns, STYLE_TITLE, 0, text);
	if (b->layout.bars >= 0)
		paint_bars(b, page, b->layout.bars);
	paint_tabs(b, page);
	if (b->view == VIEW_FLAME)
		flame_paint(b, page);
	else
		paint_rows(b, page);
	paint_status(b, page);
}
