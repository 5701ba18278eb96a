/* SPDX-License-Identifier: MIT */
#include "tui/actions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/across.h"
#include "tui/flame.h"
#include "tui/paint.h"
#include "tui/pair.h"
#include "tui/reading.h"
#include "tui/save.h"

#define WHEEL 3			/* rows */

static void tell(struct browser *b, const char *text)
{
	snprintf(b->message, sizeof(b->message), "%s", text);
}

/* --- Moving. ------------------------------------------------------------------ */
static void move(struct browser *b, long by)
{
	browser_select(b, (long)browser_place(b)->at + by);
}

static long page_of(const struct browser *b)
{
	return b->layout.rows > 1 ? b->layout.rows - 1 : 1;
}

static void up(struct browser *b) { b->view == VIEW_FLAME ? flame_move(b, FLAME_UP) : move(b, -1); }
static void down(struct browser *b)
{
	b->view == VIEW_FLAME ? flame_move(b, FLAME_DOWN) : move(b, 1);
}
static void page_up(struct browser *b) { move(b, -page_of(b)); }
static void page_down(struct browser *b) { move(b, page_of(b)); }
static void home(struct browser *b) { browser_select(b, 0); }
static void end(struct browser *b) { browser_select(b, (long)b->listed.n - 1); }

/* --- The tree. ------------------------------------------------------------------ */
static void set_open(struct browser *b, int open)
{
	const struct row *r = browser_selected(b);

	if (r && r->parent)
		hashmap_set(&browser_place(b)->open, r->key, (uint32_t)open);
	browser_list(b);
}

static void to_parent(struct browser *b)
{
	size_t at = browser_place(b)->at;
	uint32_t depth = browser_selected(b)->depth;

	while (at && b->rows.v[b->listed.v[at]].depth >= depth)
		at--;
	browser_select(b, (long)at);
}

static int is_open(const struct browser *b, const struct row *r)
{
	return r->parent && hashmap_get(&b->places[b->view].open, r->key) == 1;
}

static void left(struct browser *b)
{
	const struct row *r = browser_selected(b);

	if (b->view == VIEW_FLAME)
		flame_move(b, FLAME_LEFT);
	else if (b->view == VIEW_TREE && r && is_open(b, r))
		set_open(b, 0);
	else if (b->view == VIEW_TREE && r)
		to_parent(b);
}

static void right(struct browser *b)
{
	const struct row *r = browser_selected(b);

	if (b->view == VIEW_FLAME)
		flame_move(b, FLAME_RIGHT);
	else if (b->view == VIEW_TREE && r && !is_open(b, r))
		set_open(b, 1);
	else if (b->view == VIEW_TREE && r && r->parent)
		move(b, 1);
}

/* Opens what is below the selected row, always the busiest, and goes to the end of it. */
static void hottest(struct browser *b)
{
	struct browser_place *p = browser_place(b);
	const struct row *r = browser_selected(b), *end;

	if ((b->view != VIEW_TREE && b->view != VIEW_FLAME) || !r)
		return;
	end = b->rows.v + b->rows.n;
	/*
	 * The first row below one is its busiest; where that is less than what the row has itself,
	 * it is the end.
	 */
	for (; r + 1 < end && r->parent && r[1].total >= r->self; r++)
		hashmap_set(&p->open, r->key, 1);
	p->key = r->key;
	p->at = 1;
	browser_list(b);
}

static void open_all(struct browser *b)
{
	const struct row *r = browser_selected(b), *end;
	uint32_t depth;

	if (b->view != VIEW_TREE || !r)
		return;
	depth = r->depth;
	end = b->rows.v + b->rows.n;
	do
		hashmap_set(&browser_place(b)->open, r->key, 1);
	while (++r < end && r->depth > depth);
	browser_list(b);
}

/* --- Views. ---------------------------------------------------------------------- */
static void go(struct browser *b, enum view view)
{
	b->view = view;
	browser_make_rows(b);
}

/* NULL: it is no function. */
static const struct row *selected_function(const struct browser *b)
{
	static const char has_functions[VIEWS] = {
		[VIEW_FUNCTIONS] = 1, [VIEW_TREE] = 1, [VIEW_CALLERS] = 1, [VIEW_FLAME] = 1,
		[VIEW_CHANGES] = 1
	};
	const struct row *r = has_functions[b->view] ? browser_selected(b) : NULL;

	return !r || r->heading || (row_views[b->view].tree && !r->depth) ? NULL : r;
}

/* The selected function is what callers and lines are of. */
static int take_focus(struct browser *b)
{
	const struct row *r = selected_function(b);
	char *name, *module;

	if (!r)
		return 0;
	/* The row may be of the old one; the caller makes new rows. */
	name = xstrdup(r->name);
	module = xstrdup(r->module);
	free(b->focus_name);
	free(b->focus_module);
	b->focus_name = name;
	b->focus_module = module;
	b->places[VIEW_CALLERS].at = b->places[VIEW_LINES].at = 0;
	b->places[VIEW_CALLERS].made = b->places[VIEW_LINES].made = 0;
	return 1;
}

/* A view of one function is of the selected one, else of the first, where none was chosen yet. */
static void find_focus(struct browser *b)
{
	if (b->focus_name || take_focus(b))
		return;
	go(b, browser_home(b));
	take_focus(b);
}

/* The tree is opened along its hottest path, until the user has opened something himself. */
static void open_tree(struct browser *b)
{
	go(b, VIEW_TREE);
	if (browser_place(b)->seen || !b->rows.n)
		return;
	browser_place(b)->seen = 1;
	hottest(b);
	browser_select(b, 0);
}

static void show_view(struct browser *b, enum view view)
{
	if (view == VIEW_CALLERS || view == VIEW_LINES)
		find_focus(b);
	if (view == VIEW_TREE)
		open_tree(b);
	else
		go(b, view);
}

static void functions(struct browser *b) { show_view(b, VIEW_FUNCTIONS); }
static void tasks(struct browser *b) { show_view(b, VIEW_TASKS); }
static void tree(struct browser *b) { show_view(b, VIEW_TREE); }
static void callers(struct browser *b) { show_view(b, VIEW_CALLERS); }
static void lines(struct browser *b) { show_view(b, VIEW_LINES); }
static void flame(struct browser *b) { show_view(b, VIEW_FLAME); }
static void modules(struct browser *b) { show_view(b, VIEW_MODULES); }
static void next_view(struct browser *b) { show_view(b, (b->view + 1) % browser_views(b)); }
static void last_view(struct browser *b)
{
	show_view(b, (b->view + browser_views(b) - 1) % browser_views(b));
}
static void changes(struct browser *b)
{
	if (b->diff)
		show_view(b, VIEW_CHANGES);
}

/* The lines and instructions of the function that was chosen, or of the selected line's. */
static void read_it(struct browser *b)
{
	const struct row *r = b->view == VIEW_LINES ? browser_selected(b) : NULL;

	if (!take_focus(b) && !(r && b->focus_name))
		return;
	if (reading_open(b, b->focus_name, b->focus_module, r ? r->file : "", r ? r->line : 0))
		tell(b, b->annotator ? "nothing is known of its code" : "code cannot be read here");
}

/* 1 where there is code to read of the function that was chosen, and it is shown. */
static int read_code(struct browser *b)
{
	if (reading_open(b, b->focus_name, b->focus_module, "", 0))
		return 0;
	if (reading_has_code(b))
		return 1;
	reading_close(b);
	return 0;
}

static void enter(struct browser *b)
{
	const struct row *r = browser_selected(b);

	if (b->view == VIEW_FLAME)
		browser_place(b)->zoom = r ? r->key : 0;
	else if (b->view == VIEW_TREE)
		set_open(b, r && !is_open(b, r));
	else if (b->annotator && (b->view == VIEW_FUNCTIONS || b->view == VIEW_LINES))
		read_it(b);
	else if (take_focus(b) && !(b->view == VIEW_CHANGES && read_code(b)))
		go(b, VIEW_CALLERS);
}

static void who_calls(struct browser *b)
{
	if (take_focus(b))
		go(b, VIEW_CALLERS);
}

static void which_lines(struct browser *b)
{
	if (take_focus(b) || b->focus_name)
		go(b, VIEW_LINES);
}

/* Two are compared; the third takes the place of the second. */
static void mark(struct browser *b)
{
	const struct row *r = selected_function(b);
	int marked = r && pair_toggle(b->marks, r->name, r->module);

	b->places[VIEW_PAIR].made = 0;
	if (!r)
		tell(b, "select a function to mark it");
	else if (marked)
		tell(b, b->marks[0].name && b->marks[1].name ? "= compares A and B"
			: "mark another function with m, then = compares both");
}

static void compare(struct browser *b)
{
	if (b->marks[0].name && b->marks[1].name)
		go(b, VIEW_PAIR);
	else
		tell(b, "mark two functions with m first");
}

/* Out of what was gone into. */
static void back(struct browser *b)
{
	if (b->view == VIEW_FLAME && browser_place(b)->zoom)
		browser_place(b)->zoom = 0;
	else if (*b->filter.text)
		browser_pattern_set(&b->filter, "");
	else
		b->view = browser_home(b);
	browser_make_rows(b);
}

/* --- Choices. --------------------------------------------------------------------- */
static void sort_by(struct browser *b, int column)
{
	const struct rows_choice c = browser_choice(b);

	if (!browser_is_sorted(b) || column < 0 || rows_columns(b->view, &c)[column] == COLUMNS)
		return;
	browser_place(b)->column = column;
	browser_list(b);
}

/* By the next column that way that a value of a label has, or that is of none. */
static void sort_beside(struct browser *b, int way)
{
	const struct rows_choice c = browser_choice(b);
	const enum row_column_id *columns = rows_columns(b->view, &c);
	int column = browser_place(b)->column + way;

	while (column > 0 && columns && columns[column] >= COLUMN_ACROSS &&
	       columns[column] <= COLUMN_ACROSS_LAST &&
	       (size_t)(columns[column] - COLUMN_ACROSS) >= b->across->n)
		column += way;
	sort_by(b, column);
}

static void sort_left(struct browser *b) { sort_beside(b, -1); }
static void sort_right(struct browser *b) { sort_beside(b, 1); }

static void reverse(struct browser *b)
{
	browser_place(b)->reverse = !browser_place(b)->reverse;
	browser_list(b);
}

/* At least one of both is on. */
static void kernel(struct browser *b)
{
	b->choice.no_kernel = !b->choice.no_kernel;
	b->choice.no_user = 0;
	b->reload = 1;
}

static void user(struct browser *b)
{
	b->choice.no_user = !b->choice.no_user;
	b->choice.no_kernel = 0;
	b->reload = 1;
}

static void show_tasks(struct browser *b, enum row_tasks tasks)
{
	b->tasks = b->tasks == tasks ? TASKS_PROCESSES : tasks;
	b->places[VIEW_TASKS].column = 0;
	b->places[VIEW_TASKS].made = 0;
	go(b, VIEW_TASKS);
}

static void threads(struct browser *b) { show_tasks(b, TASKS_THREADS); }
static void process_tree(struct browser *b) { show_tasks(b, TASKS_TREE); }

static void window(struct browser *b)
{
	if (!b->live)
		return;
	b->since_start = !b->since_start;
	b->reload = 1;
}

static void other_type(struct browser *b, uint32_t by)
{
	if (b->show.ntypes < 2) {
		tell(b, "there are no other values");
		return;
	}
	/* The next of the one that was chosen, which need not be shown yet. */
	b->choice.type = ((b->choice.type ? b->choice.type - 1 : b->show.type) + by) %
				 b->show.ntypes +
			 1;
	b->reload = 1;
}

static void next_type(struct browser *b) { other_type(b, 1); }
static void last_type(struct browser *b) { other_type(b, b->show.ntypes - 1); }

static void pause_it(struct browser *b)
{
	b->paused = b->live && !b->paused;
	b->reload = !b->paused;
}

static void prompt(struct browser *b, enum browser_prompt what, const char *text)
{
	b->prompt = what;
	snprintf(b->typed, sizeof(b->typed), "%s", text);
}

static void search(struct browser *b) { prompt(b, PROMPT_SEARCH, ""); }
static void filter(struct browser *b) { prompt(b, PROMPT_FILTER, b->filter.text); }
static void save(struct browser *b) { prompt(b, PROMPT_SAVE, ""); }
static void help(struct browser *b) { b->help = 1; }
static void detail(struct browser *b)
{
	b->detail = browser_selected(b) != NULL && b->view != VIEW_PAIR;
}
static void quit(struct browser *b) { b->quit = 1; }
static void suspend(struct browser *b) { b->suspend = 1; }
static void redraw(struct browser *b) { b->redraw = 1; }

/* To the next row that fits, from the selected one on; @by is 1 or -1. */
static void find(struct browser *b, long by, int from)
{
	long n = (long)b->listed.n, at = (long)browser_place(b)->at;

	for (long i = from; i < n; i++) {
		long k = ((at + by * i) % n + n) % n;

		if (browser_pattern_matches(&b->search, &b->rows.v[b->listed.v[k]])) {
			browser_select(b, k);
			return;
		}
	}
	tell(b, *b->search.text ? "no other row matches" : "no search pattern yet: press /");
}

static void find_next(struct browser *b) { find(b, 1, 1); }
static void find_last(struct browser *b) { find(b, -1, 1); }

#define ESCAPE 27

static const struct action {
	uint32_t keys[4];
	void (*act)(struct browser *b);
	struct action_help help;
} actions[] = {
	{ { PRESS_UP, 'k' }, up, { "up, k", "one row up" } },
	{ { PRESS_DOWN, 'j' }, down, { "down, j", "one row down" } },
	{ { PRESS_PAGE_UP, PRESS_CONTROL('b') }, page_up, { "PgUp, ^B", "a page up" } },
	{ { PRESS_PAGE_DOWN, PRESS_CONTROL('f') }, page_down, { "PgDn, ^F", "a page down" } },
	{ { PRESS_HOME, 'g' }, home, { "Home, g", "to the first row" } },
	{ { PRESS_END, 'G' }, end, { "End, G", "to the last row" } },
	{ { PRESS_LEFT, 'h', '-' },
	  left,
	  { "left, h, -", "close a branch of the tree, or go to its parent" } },
	{ { PRESS_RIGHT, 'l', '+' }, right, { "right, l, +", "open a branch" } },
	{ { '\r', '\n' }, enter, { "Enter", "source and instructions; open a branch; zoom" } },
	{ { ESCAPE, PRESS_BACKSPACE }, back, { "Esc", "back: out of zoom, filter, view" } },
	{ { '1' }, functions, { "1", "functions" } },
	{ { '2' }, tasks, { "2", "processes, or threads" } },
	{ { '3' }, tree, { "3", "call tree" } },
	{ { '4' }, callers, { "4", "callers and callees" } },
	{ { '5' }, lines, { "5", "source lines of the function" } },
	{ { '6' }, flame, { "6", "flame graph" } },
	{ { '7' }, modules, { "7", "images: programs, libraries, the kernel" } },
	{ { '8' }, changes, { "8", "what changed; of a diff alone" } },
	{ { '\t' }, next_view, { "Tab", "next view" } },
	{ { PRESS_BACKTAB }, last_view, { "Shift-Tab", "previous view" } },
	{ { 'H' }, hottest, { "H", "follow the hottest path" } },
	{ { '*' }, open_all, { "*", "open all below" } },
	{ { 'a' }, read_it, { "a", "source and instructions of what is selected" } },
	{ { 'c' }, who_calls, { "c", "callers and callees of what is selected" } },
	{ { 'L' }, which_lines, { "L", "source lines of what is selected" } },
	{ { 'm' }, mark, { "m", "mark a function, A and B, or take its mark away" } },
	{ { '=' }, compare, { "=", "compare the functions that are marked" } },
	{ { '/' }, search, { "/", "search: a regular expression" } },
	{ { 'n' }, find_next, { "n", "next match" } },
	{ { 'N' }, find_last, { "N", "previous match" } },
	{ { 'f', '\\' }, filter, { "f, \\", "show only what matches a regular expression" } },
	{ { '<', ',' }, sort_left, { "<", "sort by the column to the left" } },
	{ { '>', '.' }, sort_right, { ">", "sort by the column to the right" } },
	{ { 'r', 'I' }, reverse, { "r", "reverse the order" } },
	{ { 'K' }, kernel, { "K", "hide the frames of the kernel, or show them" } },
	{ { 'u', 'U' }, user, { "u", "hide the frames of programs, or show them" } },
	{ { 't' }, threads, { "t", "threads or processes" } },
	{ { 'T' }, process_tree, { "T", "processes below those that started them" } },
	{ { 'w' }, window, { "w", "the last seconds, or all since the start" } },
	{ { 'v' }, next_type, { "v", "next values: bytes, blocks, waits" } },
	{ { 'V' }, last_type, { "V", "previous values" } },
	{ { ' ' }, pause_it, { "Space", "pause, and resume" } },
	{ { 'i' }, detail, { "i", "details of the selected row" } },
	{ { 's' }, save, { "s", "save what is shown; the name chooses the format" } },
	{ { '?', PRESS_CONTROL('h') }, help, { "?", "these keys" } },
	{ { PRESS_CONTROL('l') }, redraw, { "^L", "redraw" } },
	{ { PRESS_CONTROL('z') }, suspend, { "^Z", "suspend; fg resumes" } },
	{ { 'q', 'Q', PRESS_CONTROL('c') }, quit, { "q, ^C", "end" } },
};

#define ACTIONS (sizeof(actions) / sizeof(*actions))

struct action_help actions_help(size_t i)
{
	return i < ACTIONS ? actions[i].help : (struct action_help){ NULL, NULL };
}

/* --- Prompts. ----------------------------------------------------------------------- */
static void answer(struct browser *b)
{
	enum browser_prompt what = b->prompt;

	b->prompt = PROMPT_NONE;
	if (what == PROMPT_SAVE) {
		if (*b->typed)
			save_profile(b->show.profile, b->typed, b->user, b->message,
				     sizeof(b->message));
	} else if (browser_pattern_set(what == PROMPT_SEARCH ? &b->search : &b->filter, b->typed)) {
		tell(b, "this is not a regular expression");
	} else if (what == PROMPT_SEARCH) {
		find(b, 1, 0);
	} else {
		browser_place(b)->at = 0;
		browser_list(b);
	}
}

/* A character as UTF-8; 0 where it is none that can be typed. */
static size_t encode(uint32_t c, char utf8[5])
{
	static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c < ' ' || (c >= 0x7f && c < 0xa0) || c >= PRESS_NONE)
		return 0;
	for (size_t i = n; i-- > 1; c >>= 6)
		utf8[i] = (char)(0x80 | (c & 0x3f));
	utf8[0] = (char)(n == 1 ? c : lead[n] | c);
	utf8[n] = '\0';
	return n;
}

static void type(struct browser *b, uint32_t key)
{
	size_t used = strlen(b->typed);
	char utf8[5];

	if (key == ESCAPE || key == PRESS_CONTROL('c')) {
		b->prompt = PROMPT_NONE;
	} else if (key == '\r' || key == '\n') {
		answer(b);
	} else if (key == PRESS_BACKSPACE || key == 0x7f || key == PRESS_CONTROL('h')) {
		while (used && ((unsigned char)b->typed[used - 1] >> 6) == 2)
			used--;
		b->typed[used ? used - 1 : 0] = '\0';
	} else if (key == PRESS_CONTROL('u')) {
		b->typed[0] = '\0';
	} else if (encode(key, utf8) && used + strlen(utf8) < sizeof(b->typed)) {
		strcpy(b->typed + used, utf8);
	}
}

/* --- The mouse. ------------------------------------------------------------------------ */
static void click(struct browser *b, const struct press_event *press)
{
	const struct browser_layout l = b->layout;
	uint64_t key = browser_place(b)->key;
	int on_row = press->row >= l.first && press->row < l.status;

	if (press->row == l.tabs) {
		int view = paint_tab_at(b, press->column);

		if (view >= 0)
			show_view(b, (enum view)view);
	} else if (b->view == VIEW_FLAME) {
		flame_click(b, press->row - l.first, press->column);
	} else if (press->row == l.header) {
		sort_by(b, paint_column_at(b, press->column));
	} else if (on_row) {
		browser_select(b, (long)browser_place(b)->top + press->row - l.first);
	}
	/* Once more on what was selected. */
	if (on_row && key == browser_place(b)->key)
		enter(b);
}

void actions_press(struct browser *b, const struct press_event *press)
{
	b->message[0] = '\0';
	if (b->prompt) {
		type(b, press->key);
		return;
	}
	if (b->help || b->detail) {
		b->help = b->help && press->key != 'q' && press->key != ESCAPE ? b->help_next : 0;
		b->detail = 0;
		b->quit = press->key == PRESS_CONTROL('c');
		return;
	}
	if (b->reading) {
		reading_press(b, press);
		return;
	}
	if (press->key == PRESS_WHEEL_UP || press->key == PRESS_WHEEL_DOWN)
		move(b, press->key == PRESS_WHEEL_UP ? -WHEEL : WHEEL);
	if (press->key == PRESS_CLICK)
		click(b, press);
	for (size_t i = 0; i < ACTIONS; i++)
		for (size_t k = 0; k < sizeof(actions[i].keys) / sizeof(actions[i].keys[0]); k++)
			if (actions[i].keys[k] && actions[i].keys[k] == press->key) {
				actions[i].act(b);
				return;
			}
}
