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

/* What the child tells where it cannot become the command. */
struct failure {
	int err;		/* a positive errno */
	int as_user;		/* 1: in becoming the user; 0: in exec */
};

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

static __attribute__((noreturn)) void give_up(int to, int err, int as_user)
{
	struct failure f = { .err = err, .as_user = as_user };

	/*
	 * Less than PIPE_BUF into an empty pipe: it is all or nothing; where it fails nobody
	 * listens.
	 */
	io_write_full(to, &f, sizeof(f));
	_exit(STATUS_NO_COMMAND);
}

/* 1 where a folder of $PATH has @name, and it may be accessed by @mode. */
static int in_path(const char *name, int mode)
{
	const char *folder = getenv("PATH"), *end;
	char path[PATH_MAX];

	for (; folder; folder = *end ? end + 1 : NULL) {
		end = strchrnul(folder, ':');
		/* An empty one stands for the current folder. */
		if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - folder), folder,
			     end > folder ? "/" : "", name) < (int)sizeof(path) &&
		    !access(path, mode))
			return 1;
	}
	return 0;
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

static __attribute__((noreturn)) void child(char *const argv[], char *const env[],
					    const struct user *u, int go, int failed)
{
	char byte;
	int err;

	reset_signals();
	user_environment(u);
	err = user_become(u);
	if (err)
		give_up(failed, -err, 1);
	if (io_read(go, &byte, 1) != 1)
		_exit(STATUS_NO_COMMAND);
	for (; env && *env; env++)
		putenv(*env);
	execvp(argv[0], argv);
	give_up(failed, exec_error(argv[0], errno), 0);
}

int launch_prepare(struct launch *l, char *const argv[], char *const env[], struct error *e)
{
	int go[2] = { -1, -1 }, failed[2] = { -1, -1 }, err = 0;
	struct user u = user_invoking();
	pid_t pid;

	*l = (struct launch){ .go = -1, .failed = -1 };
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		err = error_set(e, STATUS_ERROR, -errno, "cannot start '%s': %s", argv[0],
				strerror(errno));
		goto out;
	}
	pid = child_fork();
	if (!pid) {
		close(go[1]);
		close(failed[0]);
		child(argv, env, &u, go[0], failed[1]);
	}
	err = pid < 0 ? -errno : 0;
	if (err) {
		error_set(e, STATUS_ERROR, err, "cannot start '%s': %s", argv[0], strerror(-err));
		goto out;
	}
	*l = (struct launch){ .pid = pid, .go = go[1], .failed = failed[0] };
	go[1] = failed[0] = -1;
out:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	return err;
}

static void close_both(struct launch *l)
{
	close(l->go);
	close(l->failed);
	l->go = l->failed = -1;
}

/*
 * What the user reads of a failure; the file's own absence and that of its interpreter give one
 * errno.
 */
static int explain(const struct failure *f, const char *name, struct error *e)
{
	if (f->as_user)
		return error_set(e, STATUS_ERROR, -f->err,
				 "cannot run '%s' as the user who called sudo: %s", name,
				 strerror(f->err));
	if (f->err == ENOENT && strchr(name, '/') && !access(name, F_OK))
		return error_set(e, STATUS_NO_EXEC, -f->err,
				 "cannot run '%s': the interpreter that it names "
				 "(#! line or ELF loader) does not exist",
				 name);
	return error_set(e, f->err == ENOENT ? STATUS_NO_COMMAND : STATUS_NO_EXEC, -f->err,
			 "cannot run '%s': %s", name, strerror(f->err));
}

int launch_go(struct launch *l, const char *name, struct error *e)
{
	struct failure f;
	int unsent = io_write_full(l->go, "", 1);
	ssize_t n;

	/* One that got no word may still wait for it: this ends it. */
	close(l->go);
	l->go = -1;
	n = io_read(l->failed, &f, sizeof(f));
	close(l->failed);
	l->failed = -1;
	if (n == sizeof(f)) {
		child_wait(l->pid);
		l->pid = 0;
		return explain(&f, name, e);
	}
	if (!unsent)
		return 0;
	child_wait(l->pid);
	l->pid = 0;
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
