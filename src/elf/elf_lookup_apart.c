/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/xalloc.h"
#include "elf/elf_lookup.h"

#define TIME_MAX	10000	/* ms; the largest files take some hundred */

/* What is sent: where each function is, and last whether anything could be read. */
struct answer {
	uint64_t offset, size;
	int64_t ifunc;
};

/* In the child. */
static void look(int fd, struct elf_function *functions, size_t n, int to)
{
	struct answer *answers = xcalloc(n + 1, sizeof(*answers));
	size_t size = (n + 1) * sizeof(*answers);
	struct elf_file *f;

	caps_limit(0);
	sandbox_enter(&(struct sandbox_options){ 0 });
	f = elf_file_open(fd);
	answers[n].ifunc = f ? elf_lookup(f, functions, n) : -errno;
	for (size_t i = 0; i < n && answers[n].ifunc >= 0; i++)
		answers[i] = (struct answer){ functions[i].offset, functions[i].size,
					      functions[i].ifunc };
	_exit(io_write_full(to, answers, size) != 0);
}

int elf_lookup_apart(int fd, struct elf_function *functions, size_t n)
{
	struct answer *answers;
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		look(fd, functions, n, ends[1]);
	err = pid < 0 ? -errno : 0;
	close(ends[1]);
	answers = xcalloc(n + 1, sizeof(*answers));
	if (!err)
		err = io_read_until(ends[0], answers, (n + 1) * sizeof(*answers),
				    clock_ns() + TIME_MAX * 1000000ull);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		child_wait(pid);
	}
	for (size_t i = 0; i < n; i++) {
		functions[i].offset = answers[i].offset;
		functions[i].size = answers[i].size;
		functions[i].ifunc = answers[i].ifunc != 0;
	}
	err = err ? err : answers[n].ifunc < 0 ? (int)answers[n].ifunc : 0;
	free(answers);
	return err;
}
