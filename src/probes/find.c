/* SPDX-License-Identifier: MIT */
#include "probes/find.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/text.h"
#include "probes/search.h"

#define TIME_MAX 10000		/* ms; the largest files take some hundred */
#define TEXT_MAX (1u << 16)	/* bytes of one name */

/* --- The child. --------------------------------------------------------------- */

struct sender {
	int to;
	size_t most, sent;
};

/* Before each place, with the bytes of its texts behind it; @offset 0: it was the last one. */
struct header {
	uint64_t offset, semaphore, matches;
	uint32_t name, arguments;
	int32_t err, ifunc, go, throws;
};

static void send(struct sender *s, const struct header *h, const char *name, const char *arguments)
{
	if (io_write_full(s->to, h, sizeof(*h)) || io_write_full(s->to, name, h->name) ||
	    io_write_full(s->to, arguments, h->arguments))
		_exit(1);
}

static void take(void *ctx, const struct search_place *p)
{
	struct sender *s = ctx;
	const struct header h = {
		.offset = p->offset,
		.semaphore = p->semaphore,
		.name = (uint32_t)strnlen(p->name, TEXT_MAX),
		.arguments = (uint32_t)strnlen(p->arguments, TEXT_MAX),
	};

	if (s->sent++ < s->most)
		send(s, &h, p->name, p->arguments);
}

static void look(int fd, const struct probe_spec *spec, size_t most, int to)
{
	struct sender s = { .to = to, .most = most };
	struct search_result r;
	struct header last = { 0 };

	caps_limit(0);
	sandbox_enter(&(struct sandbox_options){ 0 });
	last.err = search_file(fd, spec, take, &s, &r);
	last.matches = s.sent;
	last.ifunc = r.ifunc;
	last.go = r.go;
	last.throws = r.throws;
	last.name = (uint32_t)strlen(r.near);
	send(&s, &last, r.near, "");
	_exit(0);
}

/* --- Its owner. ---------------------------------------------------------------- */

static int receive_text(int from, uint32_t size, uint64_t end, char **text)
{
	if (size > TEXT_MAX)
		return -EBADMSG;
	*text = xcalloc(size + 1, 1);
	return io_read_until(from, *text, size, end);
}

static int receive_place(int from, const struct header *h, uint64_t end, struct probe_found *out)
{
	struct probe_place p = { .offset = h->offset, .semaphore = h->semaphore };
	int err = receive_text(from, h->name, end, &p.name);

	if (!err)
		err = receive_text(from, h->arguments, end, &p.arguments);
	if (err) {
		free(p.name);
		free(p.arguments);
		return err;
	}
	vec_push(&out->places, p);
	return 0;
}

static int receive_all(int from, size_t most, struct probe_found *out)
{
	uint64_t end = clock_ns() + TIME_MAX * 1000000ull;
	struct header h;
	char *near = NULL;
	int err;

	while (!(err = io_read_until(from, &h, sizeof(h), end)) && h.offset && !err) {
		if (out->places.n >= most)
			return -EBADMSG;
		err = receive_place(from, &h, end, out);
		if (err)
			return err;
	}
	if (!err)
		err = receive_text(from, h.name, end, &near);
	if (!err) {
		text_clean(out->near, sizeof(out->near), near);
		out->matches = h.matches;
		out->ifunc = h.ifunc;
		out->go = h.go;
		out->throws = h.throws;
		err = h.err > 0 ? -EBADMSG : h.err;
	}
	free(near);
	return err;
}

int probes_find(int fd, const struct probe_spec *spec, size_t most, struct probe_found *out)
{
	int ends[2], err;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		look(fd, spec, most, ends[1]);
	err = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (!err)
		err = receive_all(ends[0], most, out);
	close(ends[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		child_wait(pid);
	}
	return err;
}

void probe_found_free(struct probe_found *f)
{
	for (size_t i = 0; i < f->places.n; i++) {
		free(f->places.v[i].name);
		free(f->places.v[i].arguments);
	}
	vec_free(&f->places);
}
