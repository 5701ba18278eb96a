/* SPDX-License-Identifier: MIT */
#include "tui/guard.h"

#include <curses.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "base/xalloc.h"

#define LEAST_FD 3

struct guard {
	int fd;			/* the end of a pipe whose other end it reads */
	pid_t pid;
};

/* What undoes what a screen does: keys, cursor, colours, the mouse, the screen itself. */
static char *undoing(void)
{
	static const char *const names[] = { "rmkx", "cnorm", "sgr0", "rmcup" };
	char *text = xstrdup("\033[?1000l\033[?1006l");
	int err;

	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return text;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *s = tigetstr(names[i]);
		char *more = s && s != (const char *)-1 ? xasprintf("%s%s", text, s) : NULL;

		if (more) {
			free(text);
			text = more;
		}
	}
	return text;
}

/* The child. What it inherited must not live longer for it. */
static void watch(int fd, const struct termios *before, const char *undo)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	/* SIGTTOU among them: we may not be in the foreground */
	sigprocmask(SIG_SETMASK, &all, NULL);
	dup2(fd, LEAST_FD);
	close_range(LEAST_FD + 1, ~0u, 0);
	if (read(LEAST_FD, &byte, 1) == 0) {
		(void)!write(STDOUT_FILENO, undo, strlen(undo));
		tcsetattr(STDIN_FILENO, TCSANOW, before);
	}
	_exit(0);
}

struct guard *guard_new(void)
{
	struct guard *g = xcalloc(1, sizeof(*g));
	struct termios before;
	char *undo = NULL;
	int ends[2] = { -1, -1 };

	g->pid = -1;
	if (!tcgetattr(STDIN_FILENO, &before) && !pipe2(ends, O_CLOEXEC)) {
		undo = undoing();
		g->pid = fork();
	}
	if (g->pid == 0)
		watch(ends[0], &before, undo);
	free(undo);
	if (ends[0] >= 0)
		close(ends[0]);
	g->fd = ends[1];
	if (g->pid > 0)
		return g;
	if (g->fd >= 0)
		close(g->fd);
	free(g);
	return NULL;
}

void guard_free(struct guard *g)
{
	if (!g)
		return;
	(void)!write(g->fd, "", 1);
	close(g->fd);
	waitpid(g->pid, NULL, 0);
	free(g);
}
