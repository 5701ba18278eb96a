/* SPDX-License-Identifier: MIT */
#include "proc/otel_context.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/protobuf.h"
#include "base/xalloc.h"
#include "proc/maps.h"

#define MAPS_MOST (1u << 20)	/* bytes of /proc/PID/maps that are looked at, */
#define MAPS_PIECE 16384	/* and at one time; the longest line has some 4,200 */
#define CONTEXT_MOST 16384u	/* bytes; some hundreds are usual */
#define VERSION 2
#define MARK "OTEL_CTX"
#define UNNAMED "unknown_service"

/* Little endian; @published is 0 while it is being written. */
struct header {
	char mark[8];
	uint32_t version, size;
	uint64_t published;
	uint64_t context;		/* address */
};
_Static_assert(sizeof(struct header) == 32, "as it is in memory");

enum { CONTEXT_RESOURCE = 1, RESOURCE_ATTRIBUTES = 1, KEY = 1, VALUE = 2, VALUE_STRING = 1 };

/* --- The context. ---------------------------------------------------------------- */

static int is_text(const struct cursor *c, const char *text, size_t n)
{
	return (size_t)(c->end - c->p) == n && !memcmp(c->p, text, n);
}

/* The value of a KeyValue where its key is service.name, and it is a string. */
static struct cursor service_value(struct cursor attribute)
{
	static const char key[] = "service.name";
	struct cursor value = { 0 };
	struct protobuf_field f, inner;
	int named = 0;

	while (protobuf_next(&attribute, &f)) {
		if (f.number == KEY)
			named = is_text(&f.bytes, key, sizeof(key) - 1);
		while (f.number == VALUE && protobuf_next(&f.bytes, &inner))
			if (inner.number == VALUE_STRING)
				value = inner.bytes;
	}
	return named && !attribute.bad ? value : (struct cursor){ 0 };
}

int otel_context_service(const void *context, size_t size, char service[OTEL_SERVICE])
{
	struct cursor c = { .p = context, .end = size ? (const uint8_t *)context + size : context };
	struct protobuf_field f, inner;
	size_t n = 0;

	while (!n && protobuf_next(&c, &f))
		while (!n && f.number == CONTEXT_RESOURCE && protobuf_next(&f.bytes, &inner)) {
			struct cursor value;

			if (inner.number != RESOURCE_ATTRIBUTES)
				continue;
			value = service_value(inner.bytes);
			n = (size_t)(value.end - value.p);
			n = n < OTEL_SERVICE ? n : OTEL_SERVICE - 1;
			if (n)
				memcpy(service, value.p, n);
		}
	service[n] = '\0';
	return *service && strncmp(service, UNNAMED, strlen(UNNAMED));
}

/* --- Finding it. -------------------------------------------------------------------- */

static int is_context(const char *path)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(path, names[i], strlen(names[i])))
			return 1;
	return 0;
}

/* The address of the first one among the lines of @text, which is changed; 0: there is none. */
static uint64_t find(char *text)
{
	struct maps_line line;
	char *next, *mark;

	while ((mark = strstr(text, MARK))) {
		next = mark + strcspn(mark, "\n");
		next += *next == '\n';
		while (mark > text && mark[-1] != '\n')
			mark--;
		if (!maps_parse_line(mark, &line) && is_context(line.path) &&
		    line.end - line.start >= sizeof(struct header))
			return line.start;
		text = next;
	}
	return 0;
}

/*
 * In pieces, of which each begins with the line that the one before it has cut: of most processes a
 * little is there, and nothing is found.
 */
static uint64_t find_in(int fd)
{
	char text[MAPS_PIECE + 1];
	size_t kept = 0, all = 0;
	uint64_t address = 0;
	ssize_t n;

	while (!address && all < MAPS_MOST && (n = read(fd, text + kept, MAPS_PIECE - kept)) > 0) {
		char *line, *end;

		all += (size_t)n;
		kept += (size_t)n;
		text[kept] = '\0';
		end = memrchr(text, '\n', kept);
		/* A line that is longer than all of it is none of ours. */
		line = end ? end + 1 : text + kept;
		kept -= (size_t)(line - text);
		if (end)
			*end = '\0';
		address = end ? find(text) : 0;
		memmove(text, line, kept);
	}
	return address;
}

static uint64_t mapping_of(pid_t pid)
{
	char path[64];
	uint64_t address;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	address = find_in(fd);
	close(fd);
	return address;
}

int otel_context_of(struct remote *remote, pid_t pid, char service[OTEL_SERVICE])
{
	uint64_t address = remote ? mapping_of(pid) : 0;
	struct header before, after;
	int found = 0;
	void *context;

	if (!address || remote_place(remote, pid, address, &before, sizeof(before)) ||
	    memcmp(before.mark, MARK, sizeof(before.mark)) || before.version != VERSION ||
	    !before.published || !before.size || before.size > CONTEXT_MOST)
		return 0;
	context = xmalloc(before.size);
	if (!remote_place(remote, pid, before.context, context, before.size) &&
	    !remote_place(remote, pid, address, &after, sizeof(after)) &&
	    !memcmp(&before, &after, sizeof(before)))
		found = otel_context_service(context, before.size, service);
	free(context);
	return found;
}
