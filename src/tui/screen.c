/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "tui/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tui/guard.h"

#define ESCAPE_DELAY 25		/* ms until Esc is a key of its own */

struct screen {
	SCREEN *terminal;
	struct guard *guard;
	int colors;			/* 0, 8 or 256 */
	int utf8;
};

/* How styles look: without colours by attributes alone. -1 is the terminal's own colour. */
static const struct look {
	attr_t mono, colored;
	short fg, bg, fg256, bg256;
} looks[STYLES] = {
	[STYLE_PLAIN] = { A_NORMAL, A_NORMAL, -1, -1, -1, -1 },
	[STYLE_TITLE] = { A_BOLD, A_BOLD, -1, -1, -1, -1 },
	[STYLE_HEADER] = { A_REVERSE, A_REVERSE, -1, -1, -1, -1 },
	[STYLE_TAB] = { A_NORMAL, A_NORMAL, -1, -1, -1, -1 },
	[STYLE_SELECTED] = { A_REVERSE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_BLUE, 231, 25 },
	[STYLE_KERNEL] = { A_NORMAL, A_NORMAL, COLOR_CYAN, -1, 37, -1 },
	[STYLE_DIM] = { A_DIM, A_DIM, -1, -1, -1, -1 },
	[STYLE_MATCH] = { A_UNDERLINE | A_BOLD, A_BOLD, COLOR_YELLOW, COLOR_BLACK, 220, 16 },
	[STYLE_ALERT] = { A_BOLD, A_BOLD, COLOR_RED, -1, 160, -1 },
	[STYLE_FLAME] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_CYAN, 16, 74 },
	[STYLE_FLAME + 1] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_WHITE, 16, 250 },
	[STYLE_FLAME + 2] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_YELLOW, 16, 215 },
	[STYLE_FLAME + 3] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_RED, 16, 209 },
	[STYLE_FLAME + 4] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_YELLOW, 16, 222 },
	[STYLE_FLAME + 5] = { A_NORMAL, A_NORMAL, COLOR_BLACK, COLOR_GREEN, 16, 179 },
};

static void start_colors(struct screen *s)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR || COLOR_PAIRS < STYLES + 1)
		return;
	s->colors = COLORS >= 256 ? 256 : 8;
	use_default_colors();
	for (short i = 0; i < STYLES; i++) {
		const struct look *l = &looks[i];

		init_pair((short)(i + 1), s->colors == 256 ? l->fg256 : l->fg,
			  s->colors == 256 ? l->bg256 : l->bg);
	}
}

static void set_modes(void)
{
	raw();				/* Ctrl-C and Ctrl-Z are keys */
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
}

struct screen *screen_new(struct error *e)
{
	struct screen *s = xcalloc(1, sizeof(*s));
	const char *term = getenv("TERM");

	/*
	 * Of the locale only which characters there are; a terminal that is not UTF-8 gets ASCII.
	 */
	s->utf8 = setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8");
	s->guard = guard_new();
	s->terminal = newterm(NULL, stdout, stdin);
	if (!s->terminal) {
		error_set(e, STATUS_ERROR, -ENOTTY,
			  "the terminal '%s' is not known here; --plain prints tables",
			  term ? term : "");
		screen_free(s);
		return NULL;
	}
	/* ncurses wants them for itself; here they are read by who draws. */
	signal(SIGTSTP, SIG_DFL);
	signal(SIGWINCH, SIG_DFL);
	set_modes();
	start_colors(s);
	curs_set(0);
	return s;
}

void screen_free(struct screen *s)
{
	if (!s)
		return;
	if (s->terminal) {
		/* Where there is only one screen, the prompt comes there. */
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
		endwin();
		delscreen(s->terminal);
	}
	guard_free(s->guard);
	free(s);
}

void screen_size(const struct screen *s, int *rows, int *columns)
{
	(void)s;
	getmaxyx(stdscr, *rows, *columns);
}

void screen_resize(struct screen *s)
{
	struct winsize w;

	(void)s;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col)
		resizeterm(w.ws_row, w.ws_col);
	clearok(stdscr, TRUE);
}

void screen_leave(struct screen *s)
{
	(void)s;
	mousemask(0, NULL);
	curs_set(1);
	endwin();
}

void screen_enter(struct screen *s)
{
	screen_resize(s);
	set_modes();
	curs_set(0);
}

/* Where there is no UTF-8: blocks become what looks like them. */
static void to_ascii(char *text)
{
	static const struct { const char *of; char is; } blocks[] = {
		{ "▁", '_' }, { "▂", '_' }, { "▃", '.' }, { "▄", '-' },
		{ "▅", '-' }, { "▆", '=' }, { "▇", '#' }, { "█", '#' }, { "▏", '|' },
	};
	char *to = text;

	while (*text) {
		size_t n = 1;

		if ((unsigned char)*text < 0x80) {
			*to++ = *text++;
			continue;
		}
		*to = '?';
		for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++)
			if (!strncmp(text, blocks[i].of, strlen(blocks[i].of)))
				*to = blocks[i].is;
		while (((unsigned char)text[n] >> 6) == 2)
			n++;
		text += n;
		to++;
	}
	*to = '\0';
}

void screen_draw(struct screen *s, const struct page *page)
{
	erase();
	for (size_t i = 0; i < page->texts.n; i++) {
		const struct page_text *t = &page->texts.v[i];

		if (!s->utf8)
			to_ascii(t->text);
		attrset(s->colors ? looks[t->style].colored | (attr_t)COLOR_PAIR(t->style + 1)
				  : looks[t->style].mono);
		mvaddstr(t->row, t->column, t->text);
	}
	attrset(A_NORMAL);
	curs_set(page->cursor_row >= 0);
	if (page->cursor_row >= 0)
		move(page->cursor_row, page->cursor_column);
	refresh();
}

static uint32_t take_mouse(struct press_event *press)
{
	MEVENT m;

	if (getmouse(&m) != OK)
		return PRESS_NONE;
	press->row = m.y;
	press->column = m.x;
	return m.bstate & BUTTON1_PRESSED   ? PRESS_CLICK
	       : m.bstate & BUTTON4_PRESSED ? PRESS_WHEEL_UP
	       : m.bstate & BUTTON5_PRESSED ? PRESS_WHEEL_DOWN
					    : PRESS_NONE;
}

int screen_press(struct screen *s, struct press_event *press)
{
	static const struct {
		wint_t code;
		uint32_t key;
	} keys[] = {
		{ KEY_UP, PRESS_UP },
		{ KEY_DOWN, PRESS_DOWN },
		{ KEY_LEFT, PRESS_LEFT },
		{ KEY_RIGHT, PRESS_RIGHT },
		{ KEY_PPAGE, PRESS_PAGE_UP },
		{ KEY_NPAGE, PRESS_PAGE_DOWN },
		{ KEY_HOME, PRESS_HOME },
		{ KEY_END, PRESS_END },
		{ KEY_BACKSPACE, PRESS_BACKSPACE },
		{ KEY_BTAB, PRESS_BACKTAB },
		{ KEY_ENTER, '\r' },
	};
	wint_t c;
	int got = get_wch(&c);

	(void)s;
	if (got == ERR)
		return 0;
	*press = (struct press_event){ .key = got == OK ? (uint32_t)c : PRESS_NONE };
	if (got != KEY_CODE_YES)
		return 1;
	if (c == KEY_MOUSE)
		press->key = take_mouse(press);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].code == c)
			press->key = keys[i].key;
	return 1;
}
