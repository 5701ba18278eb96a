/* SPDX-License-Identifier: MIT */
#include "session/sleeper.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

#define PAGE 4096u

/*
 * The stack pointer of a thread that is in a system call or blocked otherwise; 0: it runs, or is
 * gone.
 */
static uint64_t stack_pointer(const struct ebp_key *key)
{
	char path[64], text[256], *last;
	uint64_t sp = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/syscall", key->process.tgid, key->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 0;
	/* proc(5): "NUMBER ARGUMENTS... SP PC", "-1 SP PC", or "running". */
	text[n] = '\0';
	last = strrchr(text, ' ');
	if (!last)
		return 0;
	*last = '\0';
	last = strrchr(text, ' ');
	return last && sscanf(last, "%" SCNx64, &sp) == 1 ? sp : 0;
}

_Static_assert(EBP_STACK_COPY <= REMOTE_BYTES && EBP_STACK_COPY / PAGE + 1 <= REMOTE_PLACES,
	       "a stack is one question");

struct ebp_rescue *sleeper_fetch(struct remote *remote, const struct ebp_rescue *sample)
{
	struct ebp_rescue *r = xcalloc(1, sizeof(*r) + EBP_STACK_COPY);
	struct iovec pages[REMOTE_PLACES];
	size_t n = 0, done;

	*r = *sample;
	/* A page at a time: the stack may end within the copy. */
	for (uint64_t at = r->sp, end = at + EBP_STACK_COPY; at < end; n++) {
		size_t size = PAGE - (at & (PAGE - 1));

		pages[n] = (struct iovec){ (void *)(uintptr_t)at,
					   size < end - at ? size : end - at };
		at += pages[n].iov_len;
	}
	done = remote_read(remote, (pid_t)r->key.process.tgid, pages, n, r->stack);
	/* It may have run meanwhile; then this is not the stack that it waited with. */
	r->head.n = stack_pointer(&r->key) == r->sp ? (uint32_t)(done & ~7u) : 0;
	return r;
}
