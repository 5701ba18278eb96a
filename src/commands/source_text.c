/* SPDX-License-Identifier: MIT */
#include "commands/source_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "base/xalloc.h"

#define BYTES_MAX (16u << 20)
#define TAB 8

static int open_below(struct source_text *s, const char *dir, const char *path)
{
	int fd = -ENOENT;

	/* The whole path first, then less and less of its beginning. */
	for (const char *rest = path; fd < 0 && rest; rest = strchr(rest, '/')) {
		rest += strspn(rest, "/");
		snprintf(s->path, sizeof(s->path), "%s/%s", dir, rest);
		fd = file_open_regular(s->path);
	}
	return fd;
}

static int open_source(struct source_text *s, const char *path, const string_vec *dirs)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < dirs->n && fd < 0; i++)
		fd = open_below(s, dirs->v[i], path);
	if (fd >= 0)
		return fd;
	snprintf(s->path, sizeof(s->path), "%s", path);
	return *path == '/' ? file_open_regular(path) : -ENOENT;
}

static void split(struct source_text *s)
{
	for (char *line = s->bytes, *end; *line; line = end + 1) {
		vec_push(&s->lines, line);
		end = strchr(line, '\n');
		if (!end)
			return;
		*end = '\0';
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
	}
}

int source_text_read(struct source_text *s, const char *path, const string_vec *dirs)
{
	ssize_t n;
	int fd;

	*s = (struct source_text){ 0 };
	fd = open_source(s, path, dirs);
	if (fd < 0)
		return fd;
	s->bytes = xmalloc(BYTES_MAX + 1);
	for (size_t used = 0;; used += (size_t)n) {
		n = io_read(fd, s->bytes + used, BYTES_MAX - used);
		s->bytes[used + (n > 0 ? (size_t)n : 0)] = '\0';
		if (n <= 0)
			break;
	}
	close(fd);
	split(s);
	return n < 0 ? (int)n : 0;
}

void source_text_free(struct source_text *s)
{
	free(s->bytes);
	vec_free(&s->lines);
}

const char *source_text_line(const struct source_text *s, size_t n, char *buf, size_t size)
{
	char raw[1024];
	size_t used = 0;

	for (const char *c = n && n <= s->lines.n ? s->lines.v[n - 1] : "";
	     *c && used + TAB < sizeof(raw); c++) {
		size_t blanks = *c == '\t' ? TAB - used % TAB : 0;

		if (blanks)
			memset(raw + used, ' ', blanks);
		else
			raw[used] = *c;
		used += blanks ? blanks : 1;
	}
	raw[used] = '\0';
	text_clean(buf, size, raw);
	return buf;
}
