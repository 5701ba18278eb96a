/* SPDX-License-Identifier: MIT */
/*
 * A folder of programs made by the tools that distributions use, for tests of what finds and
 * unpacks their debug files.
 */
#ifndef EBPROF_TESTS_DEBUG_FIXTURE_H
#define EBPROF_TESTS_DEBUG_FIXTURE_H

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"

static char fixture_dir[256];

/*
 * Runs a command in the folder. 0: it went well. A cache of compilers may give back what names the
 * folder of an earlier test.
 */
__attribute__((format(printf, 1, 2))) static inline int shell(const char *fmt, ...)
{
	char command[8192];
	va_list args;
	int n = snprintf(command, sizeof(command),
			 "cd %s && exec 2>log && export CCACHE_DISABLE=1 && ", fixture_dir);

	va_start(args, fmt);
	vsnprintf(command + n, sizeof(command) - (size_t)n, fmt, args);
	va_end(args);
	return system(command);
}

/* A program prog.c with functions of which the names are known, with all sections that matter. */
static inline int fixture_begin(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(fixture_dir, sizeof(fixture_dir), "%s/ebprof-test.XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(fixture_dir))
		return -1;
	return shell(
		"{ echo 'static int __attribute__((noinline)) hidden(int x) { return x * 3; }';"
		" for i in $(seq 200); do echo \"int shared_$i(int x) { return hidden(x) + $i; "
		"}\"; done;"
		" echo 'int main(int n, char **v) { return v[0] ? hidden(n) : 0; }'; } >prog.c &&"
		" cc -g -O1 -Wl,--build-id=sha1 -o prog prog.c");
}

static inline void fixture_end(void)
{
	shell("cd / && rm -rf %s", fixture_dir);
}

static inline const char *fixture_path(const char *name)
{
	static char path[PATH_MAX + 256];

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	return path;
}

struct fixture_file {
	int fd;
	struct elf_file *elf;
};

static inline struct fixture_file fixture_open(const char *name)
{
	struct fixture_file f = { .fd = open(fixture_path(name), O_RDONLY | O_CLOEXEC) };

	f.elf = f.fd >= 0 ? elf_file_open(f.fd) : NULL;
	return f;
}

static inline void fixture_close(struct fixture_file *f)
{
	elf_file_free(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* A process whose root is FIXTURE/root; 0 where we may not make one. To be killed. */
static inline pid_t fixture_process_in_root(void)
{
	int ready[2];
	char c = 0;
	pid_t pid;

	if (pipe(ready))
		return 0;
	pid = fork();
	if (!pid) {
		c = !chroot(fixture_path("root")) && !chdir("/");
		if (write(ready[1], &c, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	if (pid > 0 && read(ready[0], &c, 1) == 1 && c)
		return pid;
	if (pid > 0)
		kill(pid, SIGKILL);
	return 0;
}

#endif
