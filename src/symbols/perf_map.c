/* SPDX-License-Identifier: MIT */
#include "symbols/perf_map.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

#define FILE_MAX	(256ll << 20)
#define LOOK_BACK	64	/* entries that begin before an address and may cover it */

struct entry {
	uint64_t start, end;
	uint64_t name;		/* where it begins in the text; the later entry has the higher one */
};

struct perf_map {
	struct symbol_source source;
	char *text;		/* the file; a NUL ends each name */
	VEC(struct entry) entries;	/* by start; one a start */
};

static const struct perf_map *self(const struct symbol_source *s)
{
	return (const struct perf_map *)(const void *)s;
}

/* --- As a source. ------------------------------------------------------------- */

static int find(const struct symbol_source *s, uint64_t address, struct source_function *out)
{
	const struct perf_map *m = self(s);
	const struct entry *best = NULL;
	size_t low = 0, high = m->entries.n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->entries.v[mid].start <= address)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = 0; i < LOOK_BACK && i < low; i++) {
		const struct entry *e = &m->entries.v[low - 1 - i];

		if (address < e->end && (!best || e->name > best->name))
			best = e;
	}
	if (!best)
		return -ENOENT;
	*out = (struct source_function){ .start = best->start, .token = best->name };
	return 0;
}

static int name(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	const char *text = self(s)->text + token;
	size_t n = strnlen(text, size - 1);

	memcpy(dst, text, n);
	dst[n] = '\0';
	return 0;
}

static void free_source(struct symbol_source *s)
{
	struct perf_map *m = (struct perf_map *)s;

	vec_free(&m->entries);
	free(m->text);
	free(m);
}

static const struct symbol_source_ops ops = { .find = find, .name = name, .free = free_source };

/* --- Reading. -------------------------------------------------------------------- */

/* A hex number, maybe with "0x", and the blanks behind it. 0 where there is none, or too long a one. */
static int hex(const char **p, uint64_t *out)
{
	const char *s = *p;
	unsigned digits = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (*out = 0; digits <= 16; s++, digits++) {
		unsigned d = *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') :
			     (*s | 32) >= 'a' && (*s | 32) <= 'f' ? (unsigned)((*s | 32) - 'a' + 10) : 16;

		if (d == 16)
			break;
		*out = *out << 4 | d;
	}
	if (!digits || digits > 16 || *s != ' ')
		return 0;
	while (*s == ' ')
		s++;
	*p = s;
	return 1;
}

static void take_line(struct perf_map *m, const char *line)
{
	uint64_t start, size;

	if (!hex(&line, &start) || !hex(&line, &size) || !*line || !size || size > UINT64_MAX - start)
		return;
	vec_push(&m->entries, (struct entry){ start, start + size, (uint64_t)(line - m->text) });
}

static int by_start(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void parse(struct perf_map *m, size_t size)
{
	size_t kept = 0;

	for (char *p = m->text, *end; p < m->text + size; p = end + 1) {
		end = memchr(p, '\n', (size_t)(m->text + size - p));
		/* The last line may still be written. */
		if (!end)
			break;
		*end = '\0';
		take_line(m, p);
	}
	if (m->entries.n > 1)
		qsort(m->entries.v, m->entries.n, sizeof(*m->entries.v), by_start);
	for (size_t i = 0; i < m->entries.n; i++)
		if (i + 1 == m->entries.n || m->entries.v[i].start != m->entries.v[i + 1].start)
			m->entries.v[kept++] = m->entries.v[i];
	m->entries.n = kept;
}

/* The whole file, with a NUL behind it. Its owner may write on meanwhile. */
static char *read_all(int fd, size_t *size)
{
	struct stat st;
	char *text;
	ssize_t n;

	if (fstat(fd, &st))
		return NULL;
	if (st.st_size > FILE_MAX) {
		errno = EFBIG;
		return NULL;
	}
	text = xmalloc((size_t)st.st_size + 1);
	for (*size = 0; *size < (size_t)st.st_size; *size += (size_t)n) {
		n = pread(fd, text + *size, (size_t)st.st_size - *size, (off_t)*size);
		if (n < 0) {
			free(text);
			return NULL;
		}
		if (!n)
			break;
	}
	text[*size] = '\0';
	return text;
}

struct symbol_source *perf_map_open(int fd)
{
	struct perf_map *m = xcalloc(1, sizeof(*m));
	int err = ENODATA;
	size_t size;

	m->source.ops = &ops;
	m->text = read_all(fd, &size);
	if (m->text)
		parse(m, size);
	else
		err = errno;
	if (m->entries.n)
		return &m->source;
	free_source(&m->source);
	errno = err;
	return NULL;
}
