/* SPDX-License-Identifier: MIT */
#include "proc/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/io.h"
#include "base/user.h"
#include "proc/self_contained.h"

/* Signals are blocked here, and no handler of the parent's may run in the child. */
static void reset_signals(void)
{
	struct sigaction deflt = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		/* refused for SIGKILL and SIGSTOP, which have no other */
		sigaction(sig, &deflt, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Two of them are less than PIPE_BUF: it is all or nothing. Who waits for one learns of our end. */
static void say(int to, struct launch_word word)
{
	if (io_write_full(to, &word, sizeof(word)))
		_exit(STATUS_NO_COMMAND);
}

static __attribute__((noreturn)) void give_up(int to, int err, int as_user)
{
	say(to, (struct launch_word){ .err = err, .as_user = as_user });
	_exit(STATUS_NO_COMMAND);
}

/* 1 where a folder of $PATH has @name, and it may be accessed by @mode: @path is it then. */
static int find_in_path(const char *name, int mode, char path[PATH_MAX])
{
	const char *folder = getenv("PATH"), *end;

	for (; folder; folder = *end ? end + 1 : NULL) {
		end = strchrnul(folder, ':');
		/* An empty one stands for the current folder. */
		if (snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - folder), folder,
			     end > folder ? "/" : "", name) < PATH_MAX &&
		    !access(path, mode))
			return 1;
	}
	return 0;
}

static int in_path(const char *name, int mode)
{
	char path[PATH_MAX];

	return find_in_path(name, mode, path);
}

int launch_finds(const char *name)
{
	return *name && (strchr(name, '/') || in_path(name, X_OK));
}

/*
 * execvp() says EACCES too where a folder of $PATH cannot be entered, and the
 * command is nowhere: root's $PATH, kept by sudo, has such folders.
 */
static int exec_error(const char *name, int err)
{
	return err != EACCES || strchr(name, '/') || !getenv("PATH") || in_path(name, F_OK)
		       ? err
		       : ENOENT;
}

/* By the rights that the command has: its file may be anything. */
static int is_self_contained(const char *name)
{
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return self_contained(name);
	return find_in_path(name, X_OK, path) && self_contained(path);
}

static __attribute__((noreturn)) void child(char *const argv[], char *const env[],
					    const struct user *u, int go, int words)
{
	char byte;
	int err;

	reset_signals();
	user_environment(u);
	err = user_become(u);
	if (err)
		give_up(words, -err, 1);
	say(words, (struct launch_word){ .self_contained = is_self_contained(argv[0]) });
	if (io_read(go, &byte, 1) != 1)
		_exit(STATUS_NO_COMMAND);
	for (; env && *env; env++)
		putenv(*env);
	execvp(argv[0], argv);
	give_up(words, exec_error(argv[0], errno), 0);
}

int launch_prepare(struct launch *l, char *const argv[], char *const env[], struct error *e)
{
	int go[2] = { -1, -1 }, words[2] = { -1, -1 }, err = 0;
	struct user u = user_invoking();
	pid_t pid;

	*l = (struct launch){ .go = -1, .words = -1 };
	if (pipe2(go, O_CLOEXEC) || pipe2(words, O_CLOEXEC)) {
		err = error_set(e, STATUS_ERROR, -errno, "cannot start '%s': %s", argv[0],
				strerror(errno));
		goto out;
	}
	pid = child_fork();
	if (!pid) {
		close(go[1]);
		close(words[0]);
		child(argv, env, &u, go[0], words[1]);
	}
	err = pid < 0 ? -errno : 0;
	if (err) {
		error_set(e, STATUS_ERROR, err, "cannot start '%s': %s", argv[0], strerror(-err));
		goto out;
	}
	*l = (struct launch){ .pid = pid, .go = go[1], .words = words[0] };
	go[1] = words[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (words[i] >= 0)
			close(words[i]);
	}
	return err;
}

static void close_both(struct launch *l)
{
	close(l->go);
	close(l->words);
	l->go = l->words = -1;
}

/*
 * What the user reads of a failure; the file's own absence and that of its interpreter give one
 * errno.
 */
static int explain(const struct launch_word *w, const char *name, struct error *e)
{
	if (w->as_user)
		return error_set(e, STATUS_ERROR, -w->err,
				 "cannot run '%s' as the user who called sudo: %s", name,
				 strerror(w->err));
	if (w->err == ENOENT && strchr(name, '/') && !access(name, F_OK))
		return error_set(e, STATUS_NO_EXEC, -w->err,
				 "cannot run '%s': the interpreter that it names "
				 "(#! line or ELF loader) does not exist",
				 name);
	return error_set(e, w->err == ENOENT ? STATUS_NO_COMMAND : STATUS_NO_EXEC, -w->err,
			 "cannot run '%s': %s", name, strerror(w->err));
}

static void hear(struct launch *l)
{
	if (!l->heard && io_read(l->words, &l->word, sizeof(l->word)) != sizeof(l->word))
		l->word = (struct launch_word){ 0 };
	l->heard = 1;
}

int launch_self_contained(struct launch *l)
{
	hear(l);
	return l->word.self_contained;
}

int launch_go(struct launch *l, const char *name, struct error *e)
{
	int unsent = 0;

	hear(l);
	if (!l->word.err) {
		unsent = io_write_full(l->go, "", 1);
		l->heard = 0;
	}
	/* One that got no word may still wait for it: this ends it. */
	close(l->go);
	l->go = -1;
	hear(l);
	close(l->words);
	l->words = -1;
	if (!l->word.err && !unsent)
		return 0;
	child_wait(l->pid);
	l->pid = 0;
	if (l->word.err)
		return explain(&l->word, name, e);
	return error_set(e, STATUS_ERROR, -ESRCH, "cannot run '%s': it was killed before it began",
			 name);
}

void launch_cancel(struct launch *l)
{
	if (l->pid <= 0 || l->go < 0)
		return;
	/* It may be stopped, and would not see the end of the file. */
	kill(l->pid, SIGKILL);
	close_both(l);
	child_wait(l->pid);
	l->pid = 0;
}

int launch_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
