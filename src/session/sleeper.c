/* SPDX-License-Identifier: MIT */
#include "session/sleeper.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

/* What the kernel says of the thread in a file of /proc; 0, or negative where it is gone. */
static int read_file(const struct ebp_key *key, const char *name, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", key->process.tgid, key->tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? 0 : -1;
}

/*
 * The stack pointer of a thread that is in a system call or blocked otherwise; 0: it runs, or is
 * gone.
 */
static uint64_t stack_pointer(const struct ebp_key *key)
{
	char text[256], *last;
	uint64_t sp = 0;

	/* proc(5): "NUMBER ARGUMENTS... SP PC", "-1 SP PC", or "running". */
	if (read_file(key, "syscall", text, sizeof(text)))
		return 0;
	last = strrchr(text, ' ');
	if (!last)
		return 0;
	*last = '\0';
	last = strrchr(text, ' ');
	return last && sscanf(last, "%" SCNx64, &sp) == 1 ? sp : 0;
}

_Static_assert(EBP_STACK_COPY <= REMOTE_BYTES, "a stack is one question");

struct ebp_rescue *sleeper_fetch(struct remote *remote, const struct ebp_rescue *sample)
{
	struct ebp_rescue *r = xcalloc(1, sizeof(*r) + EBP_STACK_COPY);
	size_t n;

	*r = *sample;
	/* The stack may end within. */
	n = remote_pages(remote, (pid_t)r->key.process.tgid, r->sp, r->stack, EBP_STACK_COPY);
	/* It may have run meanwhile; then this is not the stack that it waited with. */
	r->head.n = stack_pointer(&r->key) == r->sp ? (uint32_t)n & ~7u : 0;
	return r;
}

/* The CPU time that the thread has had, ns (proc(5): schedstat); 0: not known. */
static uint64_t runtime(const struct ebp_key *key)
{
	uint64_t ns = 0;
	char text[128];

	if (read_file(key, "schedstat", text, sizeof(text)) || sscanf(text, "%" SCNu64, &ns) != 1)
		return 0;
	return ns;
}

struct ebp_stack *sleeper_frames(struct langs *langs, const struct ebp_rescue *sample,
				 uint32_t number, uint64_t bias, int await)
{
	const struct langs_thread thread = { .process = sample->key.process,
					     .thread_pointer = sample->thread_pointer,
					     .bias = bias,
					     .await = await };
	struct ebp_stack *s = xcalloc(1, sizeof(*s) + EBP_WORDS_MAX * sizeof(s->frames[0]));
	size_t n = langs_walk(langs, number, &thread, (uint64_t *)s->frames);

	/* Where its stack pointer is the same its frames need not be. */
	if (!n || !sample->runtime || runtime(&sample->key) != sample->runtime) {
		free(s);
		return NULL;
	}
	s->head.type = EBP_LANG_STACK;
	s->head.n = (uint32_t)n;
	/* The stack's own id is one thread's, too. */
	s->id = ~sample->key.user_id;
	return s;
}
