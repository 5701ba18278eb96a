/* SPDX-License-Identifier: MIT */
#include "symbols/perf_map.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/vec.h"
#include "symbols/jit_file.h"
#include "symbols/jit_ranges.h"

#define CHUNK		(256u << 10)	/* read at once; a line that is longer is skipped */
#define MAX_NAME	4096		/* bytes kept of one, with its terminator */
#define MAX_NAMES	(192u << 20)	/* bytes of all, also of those whose code is gone */
/* bytes before the place to go on at, to see whether they are still the same */
#define TAIL		64

struct perf_map {
	struct symbol_source source;
	int fd;
	struct jit_ranges ranges;	/* the payload: where the name is in @names */
	VEC(char) names;		/* only appended to: a token is a place in it */
	uint64_t parsed;		/* bytes of the file; after a line's end */
	uint64_t skipped;
	char tail[TAIL];
	size_t tail_size;
};

/* A number in hexadecimal at @p, after blanks; what follows it, or NULL. */
static const char *parse_hex(const char *p, const char *end, uint64_t *out)
{
	static const signed char digits[256] = {
		['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
		['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
		['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
		['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
	};
	const char *first;
	uint64_t x = 0;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (first = p; p < end && digits[(unsigned char)*p]; p++) {
		if (x >> 60)
			return NULL;
		x = x << 4 | (uint64_t)(digits[(unsigned char)*p] - 1);
	}
	*out = x;
	return p > first ? p : NULL;
}

/* One line, without its newline. 0, or it is no entry. */
static int parse_line(struct perf_map *m, const char *p, const char *end)
{
	uint64_t start, size;
	size_t n;

	p = parse_hex(p, end, &start);
	if (!p || p == end || (*p != ' ' && *p != '\t'))
		return -EINVAL;
	p = parse_hex(p, end, &size);
	if (!p || p == end || (*p != ' ' && *p != '\t'))
		return -EINVAL;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end > p && end[-1] == '\r')
		end--;
	n = strnlen(p, (size_t)(end - p));
	if (!n)
		return -EINVAL;
	if (n >= MAX_NAME)
		n = MAX_NAME - 1;
	if (m->names.n + n + 1 > MAX_NAMES)
		return -ENOSPC;
	if (jit_ranges_add(&m->ranges, start, size, (uint32_t)m->names.n))
		return -EINVAL;
	vec_reserve(&m->names, m->names.n + n + 1);
	memcpy(m->names.v + m->names.n, p, n);
	m->names.v[m->names.n + n] = '\0';
	m->names.n += n + 1;
	return 0;
}

/* All whole lines of @buf; returns the bytes used up. */
static size_t parse_chunk(struct perf_map *m, const char *buf, size_t n)
{
	const char *p = buf, *newline;

	while ((newline = memchr(p, '\n', (size_t)(buf + n - p)))) {
		if (newline > p && parse_line(m, p, newline))
			m->skipped++;
		p = newline + 1;
	}
	return (size_t)(p - buf);
}

/*
 * How long a line is that begins at @offset, with its newline: more than CHUNK. 0: it has no end
 * yet.
 */
static int64_t skip_line(struct perf_map *m, char *buf, uint64_t offset)
{
	uint64_t at = offset;

	while (at < JIT_FILE_MAX) {
		ssize_t n = io_pread_full(m->fd, buf, CHUNK, at);
		const char *newline = n > 0 ? memchr(buf, '\n', (size_t)n) : NULL;

		if (newline)
			return (int64_t)(at - offset) + (newline - buf) + 1;
		if (n <= 0)
			return n;
		at += (uint64_t)n;
	}
	return 0;
}

/*
 * Reads on, up to the last newline: what is behind it may be half of a line
 * that is being written, and half a name is a wrong one.
 */
static int read_on(struct perf_map *m)
{
	char *buf = xmalloc(CHUNK);
	int64_t err = 0;

	while (m->parsed < JIT_FILE_MAX) {
		size_t want = JIT_FILE_MAX - m->parsed < CHUNK ? (size_t)(JIT_FILE_MAX - m->parsed)
							       : CHUNK,
		       used;
		ssize_t n = io_pread_full(m->fd, buf, want, m->parsed);

		err = n < 0 ? n : 0;
		if (n <= 0)
			break;
		used = parse_chunk(m, buf, (size_t)n);
		if (!used && (size_t)n == CHUNK) {
			err = skip_line(m, buf, m->parsed);
			if (err <= 0)
				break;
			m->skipped++;
			used = (size_t)err;
		}
		m->parsed += used;
		if (!used)
			break;
	}
	free(buf);
	return err < 0 ? (int)err : 0;
}

/* Whether the file still has before m->parsed what it had when that was read. */
static int is_same(const struct perf_map *m)
{
	char tail[TAIL];

	return io_pread_full(m->fd, tail, m->tail_size, m->parsed - m->tail_size) ==
		       (ssize_t)m->tail_size &&
	       !memcmp(tail, m->tail, m->tail_size);
}

int perf_map_refresh(struct symbol_source *source)
{
	struct perf_map *m = (struct perf_map *)source;
	uint64_t before;
	ssize_t n;
	int err;

	/*
	 * What an earlier map said of code that the new one has nothing of still names earlier
	 * samples.
	 */
	if (!is_same(m))
		m->parsed = m->tail_size = 0;
	before = m->parsed;
	err = read_on(m);
	if (m->parsed == before)
		return err;
	jit_ranges_cut(&m->ranges);
	m->tail_size = m->parsed < TAIL ? (size_t)m->parsed : TAIL;
	n = io_pread_full(m->fd, m->tail, m->tail_size, m->parsed - m->tail_size);
	/*
	 * Cut short in this very moment: what is not there is not compared, and the next time shows
	 * it.
	 */
	if (n != (ssize_t)m->tail_size)
		memset(m->tail, 0, sizeof(m->tail));
	return err;
}

static int perf_map_find(const struct symbol_source *source, uint64_t address,
			 struct source_function *out)
{
	const struct jit_range *r = jit_ranges_find(&((const struct perf_map *)source)->ranges,
						    address);

	if (!r)
		return -ENOENT;
	*out = (struct source_function){ .start = r->start, .token = r->payload };
	return 0;
}

static int perf_map_name(const struct symbol_source *source, uint64_t token, char *dst, size_t size)
{
	const struct perf_map *m = (const struct perf_map *)source;
	size_t n;

	if (token >= m->names.n)
		return -EINVAL;
	n = strnlen(m->names.v + token, size - 1);
	memcpy(dst, m->names.v + token, n);
	dst[n] = '\0';
	return 0;
}

static void perf_map_free(struct symbol_source *source)
{
	struct perf_map *m = (struct perf_map *)source;

	close(m->fd);
	jit_ranges_free(&m->ranges);
	vec_free(&m->names);
	free(m);
}

static const struct symbol_source_ops ops = {
	.find = perf_map_find,
	.name = perf_map_name,
	.free = perf_map_free,
	.refresh = perf_map_refresh,
};

struct symbol_source *perf_map_open(int fd)
{
	struct perf_map *m = xcalloc(1, sizeof(*m));
	int err;

	m->source.ops = &ops;
	m->fd = fd;
	err = perf_map_refresh(&m->source);
	if (!err)
		return &m->source;
	perf_map_free(&m->source);
	errno = -err;
	return NULL;
}

uint64_t perf_map_skipped(const struct symbol_source *source)
{
	return ((const struct perf_map *)source)->skipped;
}
