/* SPDX-License-Identifier: MIT */
#include "tui/tui.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "tui/actions.h"
#include "tui/paint.h"
#include "tui/screen.h"

#define MS 1000000u
/* times the CPU time of bringing the picture up to date: then that is 5 % of a CPU at most */
#define PAUSE 20

struct tui {
	struct screen *screen;
	struct browser browser;
	struct page page;
	int signals;			/* signalfd */
	sigset_t before;		/* signals that were blocked */
};

int tui_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb");
}

struct tui *tui_new(const char *target, const struct user *u, int live, int since_start,
		    struct error *e)
{
	struct tui *t = xcalloc(1, sizeof(*t));
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGTSTP);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, &t->before);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	browser_init(&t->browser);
	t->browser.target = target;
	t->browser.user = u;
	t->browser.live = live;
	t->browser.since_start = since_start;
	t->screen = screen_new(e);
	if (t->screen)
		return t;
	tui_free(t);
	return NULL;
}

void tui_compare(struct tui *t, const struct diff *d)
{
	t->browser.diff = d;
	t->browser.view = browser_home(&t->browser);
}

void tui_across(struct tui *t, const char *key)
{
	t->browser.across_key = key;
}

void tui_annotate(struct tui *t, struct annotator *a, const struct profile *code)
{
	t->browser.annotator = a;
	t->browser.code = code;
}

void tui_free(struct tui *t)
{
	if (!t)
		return;
	screen_free(t->screen);
	browser_free(&t->browser);
	page_free(&t->page);
	if (t->signals >= 0)
		close(t->signals);
	sigprocmask(SIG_SETMASK, &t->before, NULL);
	free(t);
}

static void reload(struct tui *t, const struct tui_source *source)
{
	struct browser *b = &t->browser;
	struct window_show show = source->show(source->ctx, b->since_start, &b->choice);

	b->nsteps = source->steps ? source->steps(source->ctx, b->steps, BROWSER_STEPS) : 0;
	b->reload = 0;
	browser_show(b, &show);
}

/* The shell has the terminal, until it tells us to go on. */
static void suspend(struct tui *t)
{
	t->browser.suspend = 0;
	screen_leave(t->screen);
	kill(getpid(), SIGSTOP);
	screen_enter(t->screen);
}

static void take_signals(struct tui *t)
{
	struct signalfd_siginfo info;

	while (read(t->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGTSTP)
			t->browser.suspend = 1;
		else
			t->browser.redraw = 1;
	}
}

static void draw(struct tui *t)
{
	int rows, columns;

	if (t->browser.redraw)
		screen_resize(t->screen);
	t->browser.redraw = 0;
	screen_size(t->screen, &rows, &columns);
	page_begin(&t->page, rows, columns);
	paint_page(&t->browser, &t->page);
	screen_draw(t->screen, &t->page);
}

void tui_run(struct tui *t, const struct tui_source *source)
{
	struct browser *b = &t->browser;
	uint64_t due = 0;		/* when it may be brought up to date again; ns */
	int more = 1;			/* the source has what is not shown */

	while (!b->quit) {
		struct pollfd p[] = {
			{ .fd = source->stop, .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = t->signals, .events = POLLIN },
			{ .fd = source->fd, .events = POLLIN },
		};
		struct press_event press;
		uint64_t now = clock_ns(), used = clock_thread_ns();

		if (b->reload || (more && !b->paused && now >= due)) {
			reload(t, source);
			more = 0;
			due = now + PAUSE * (clock_thread_ns() - used);
		}
		draw(t);
		poll(p, 4, !more || b->paused ? -1 : due > now ? (int)((due - now) / MS) + 1 : 0);
		if (p[0].revents || (p[1].revents & (POLLHUP | POLLERR | POLLNVAL)))
			return;
		while (!b->quit && screen_press(t->screen, &press))
			actions_press(b, &press);
		if (p[2].revents)
			take_signals(t);
		if (p[3].revents) {
			source->clear(source->ctx);
			more = 1;
		}
		if (b->suspend)
			suspend(t);
	}
}
