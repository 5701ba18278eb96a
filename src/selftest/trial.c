/* SPDX-License-Identifier: MIT */
#include "selftest/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "input/input.h"
#include "proc/launch.h"

#define SELF "/proc/self/exe"
#define PATIENCE "60"			/* s for a program, on a busy machine */
#define PATIENCE_MS 90000		/* for it and its recording */
#define OUTPUT_MAX (256u << 20)	/* bytes of a file that a recording or its program writes */
#define MESSAGES_MAX 16384		/* bytes that are looked at */
#define PATH_TEXT 64
#define WORDS_MAX 24
#define OURS "ebprof: "		/* our own messages begin with it */

/* What a recording leaves. */
struct trial {
	int profile, messages;	/* memory, as files; -1: none */
	int script;		/* the same, of a program that is a file */
	int status;		/* as waitpid(2) has it */
};

/* --- Starting. ----------------------------------------------------------------------- */

static int memory_file(void)
{
	return memfd_create("ebprof-selftest", MFD_CLOEXEC);
}

/* The words of the command. @path has the name of its script. */
static void command(const struct selftest_program *p, const char *path, const char **words)
{
	size_t n = 0;

	words[n++] = "ebprof";
	for (size_t i = 0; i < sizeof(p->how) / sizeof(*p->how) && p->how[i]; i++)
		words[n++] = p->how[i];
	for (const char *const *w = (const char *const[]){ "--no-keep", "-d", PATIENCE, "-f",
							    "pprof", "-o", "-", "--", NULL };
	     *w; w++)
		words[n++] = *w;
	if (!p->script) {
		words[n++] = SELF;
		words[n++] = "selftest";
		words[n++] = "--be";
		words[n++] = p->name;
	} else {
		words[n++] = p->name;
		words[n++] = p->option;
		words[n++] = p->as_file ? path : p->script;
	}
	words[n] = NULL;
}

static __attribute__((noreturn)) void be_ebprof(const struct selftest_program *p,
						const struct trial *t, pid_t owner)
{
	const struct rlimit most = { OUTPUT_MAX, OUTPUT_MAX };
	const char *words[WORDS_MAX];
	char path[PATH_TEXT];
	sigset_t none;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* It and what it starts end together, with us or when they take too long. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != owner || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(t->profile, STDOUT_FILENO) < 0 || dup2(t->messages, STDERR_FILENO) < 0 ||
	    setrlimit(RLIMIT_FSIZE, &most))
		_exit(STATUS_ERROR);
	/* The number stays the same in the program, which opens it by its name. */
	if (t->script >= 0)
		fcntl(t->script, F_SETFD, 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", t->script);
	command(p, path, words);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execv(SELF, (char *const *)words);
	_exit(STATUS_ERROR);
}

/* Waits for the recording, but not for ever. */
static void await(struct trial *t, pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n;

	do
		n = poll(&ended, 1, PATIENCE_MS);
	while (n < 0 && errno == EINTR);
	if (!n)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &t->status, 0) < 0 && errno == EINTR)
		;
	if (ended.fd >= 0)
		close(ended.fd);
}

static int record(const struct selftest_program *p, struct trial *t)
{
	pid_t owner = getpid(), pid;

	*t = (struct trial){ memory_file(), memory_file(), -1, 0 };
	if (p->as_file)
		t->script = memory_file();
	if (t->profile < 0 || t->messages < 0 || (p->as_file && t->script < 0))
		return -errno;
	if (p->as_file && io_write_full(t->script, p->script, strlen(p->script)))
		return -EIO;
	pid = child_fork();
	if (!pid)
		be_ebprof(p, t, owner);
	if (pid < 0)
		return -errno;
	await(t, pid);
	return 0;
}

static void finish(struct trial *t)
{
	const int fds[] = { t->profile, t->messages, t->script };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* --- What it left. ------------------------------------------------------------------- */

/*
 * What stands behind @prefix in the first line of @text where that begins with @word, clean. 0
 * where there is none.
 */
static int find_line(const char *text, const char *prefix, const char *word, char *to, size_t size)
{
	const size_t behind = strlen(prefix);
	char raw[256];

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncmp(line, prefix, behind) || strncmp(line + behind, word, strlen(word)))
			continue;
		snprintf(raw, sizeof(raw), "%.*s", (int)strcspn(line + behind, "\n"),
			 line + behind);
		text_clean(to, size, raw);
		return 1;
	}
	return 0;
}

static void read_truth(const char *messages, struct outcome *o)
{
	struct truth t = { 0 };
	unsigned long long a = 0, b = 0;
	char line[256];

	if (!find_line(messages, SELFTEST_WORD " ", "", line, sizeof(line)) ||
	    sscanf(line, "%31s %llu %llu", t.version, &a, &b) != 3)
		return;
	if (o->program->judged & SELFTEST_BLOCKS) {
		t.blocks = a;
		t.bytes = b;
	} else {
		t.busy = a;
		t.rested = b;
	}
	o->truth = t;
}

/* In a child without rights: what is read may have been written by the program. */
static int read_profile(int fd, struct outcome *o)
{
	struct { int done; struct measured m; } *shared = child_memory(sizeof(*shared));
	pid_t pid = shared ? child_fork() : -1;
	int done;

	if (!pid) {
		struct input_notes notes;
		struct profile *profile;
		struct error e;

		sandbox_enter(&(struct sandbox_options){ 0 });
		profile = lseek(fd, 0, SEEK_SET) ? NULL : input_read_fd(fd, "it", &notes, &e);
		if (profile)
			measure(profile, o->program, &shared->m);
		shared->done = profile != NULL;
		_exit(0);
	}
	if (!shared)
		return -ENOMEM;
	if (pid > 0)
		child_wait(pid);
	done = shared->done;
	o->measured = shared->m;
	munmap(shared, sizeof(*shared));
	return done ? 0 : -EINVAL;
}

static void end(struct outcome *o, enum outcome_state state, const char *why)
{
	o->state = state;
	snprintf(o->why, sizeof(o->why), "%s", why);
}

/* Of a program that did not say what it did. */
static void explain(struct outcome *o, int status, int has_profile, const char *messages)
{
	char line[sizeof(o->why)];

	if (status == STATUS_NO_COMMAND)
		end(o, OUTCOME_SKIPPED, "not installed");
	else if (status == STATUS_DENIED && find_line(messages, OURS, "", line, sizeof(line)))
		end(o, OUTCOME_SKIPPED, line);
	else if (status && has_profile && find_line(messages, "", "", line, sizeof(line)))
		end(o, OUTCOME_SKIPPED, line);
	else if (!has_profile && find_line(messages, OURS, "", line, sizeof(line)))
		end(o, OUTCOME_WRONG, line);
	else
		end(o, OUTCOME_WRONG, "it did not run to its end what it was given");
}

/* What became of the recording: @o's state, and the status. */
static int conclude(const struct trial *t, struct outcome *o)
{
	const int status = launch_status(t->status);
	const int has_profile = !read_profile(t->profile, o);
	char messages[MESSAGES_MAX + 1];
	ssize_t n = io_pread_full(t->messages, messages, MESSAGES_MAX, 0);

	messages[n > 0 ? n : 0] = '\0';
	read_truth(messages, o);
	if (!*o->truth.version)
		explain(o, status, has_profile, messages);
	else
		judge(o);
	if (o->state == OUTCOME_WRONG &&
	    find_line(messages, OURS, "functions of ", o->why, sizeof(o->why)))
		o->state = OUTCOME_SKIPPED;
	return status;
}

enum status trial_run(const struct selftest_program *p, struct outcome *o)
{
	struct trial t;
	int err, status = STATUS_OK;

	*o = (struct outcome){ .program = p };
	if (p->script && !launch_finds(p->name)) {
		end(o, OUTCOME_SKIPPED, "not installed");
		return STATUS_OK;
	}
	/* The kernel starts no loader for a static program. */
	if (p->preloads && !getauxval(AT_BASE)) {
		end(o, OUTCOME_SKIPPED, "memory of static programs is not seen, and this is one");
		return STATUS_OK;
	}
	err = record(p, &t);
	if (err)
		end(o, OUTCOME_WRONG, strerror(-err));
	else
		status = conclude(&t, o);
	finish(&t);
	return status == STATUS_DENIED ? STATUS_DENIED : STATUS_OK;
}
