/* SPDX-License-Identifier: MIT */
#include "symbols/jit_lines.h"

#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "base/strtab.h"
#include "base/vec.h"

#define MAX_LINES	(8u << 20)	/* 12 bytes each */
#define MAX_FILES	(1u << 20)
#define MAX_FILE_NAMES	(32u << 20)	/* bytes */

#define V8_BIAS 64	/* sizeof(Elf64_Ehdr) */

struct line {
	uint32_t offset;	/* of the function's code */
	uint32_t line;
	uint32_t file;		/* in @files */
};

struct jit_lines {
	VEC(struct line) lines;
	struct strtab *files;
	size_t files_size;
	/* The last record, from @first on. */
	uint64_t address;
	uint32_t first;
	int good;
};

struct jit_lines *jit_lines_new(void)
{
	struct jit_lines *l = xcalloc(1, sizeof(*l));

	l->files = strtab_new();
	return l;
}

void jit_lines_free(struct jit_lines *l)
{
	if (!l)
		return;
	vec_free(&l->lines);
	strtab_free(l->files);
	free(l);
}

/* What was not claimed makes room. */
static void drop(struct jit_lines *l)
{
	l->lines.n = l->first;
	l->good = 0;
}

void jit_lines_begin(struct jit_lines *l, uint64_t address)
{
	drop(l);
	l->address = address;
	l->good = 1;
}

void jit_lines_spoil(struct jit_lines *l)
{
	drop(l);
}

/* Node 20 writes what it finds in freed memory for some names: no name has such characters. */
static int is_name(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return 0;
	return 1;
}

int jit_lines_add(struct jit_lines *l, const struct jit_line_entry *entry, const char *file)
{
	uint64_t offset = entry->address - l->address;
	struct line line = { (uint32_t)offset, entry->line, 0 };
	uint32_t before = strtab_count(l->files);

	/* Offsets that no function has come from a record that was not written as it says. */
	if (!l->good || offset > UINT32_MAX || entry->line > INT32_MAX || !is_name(file)) {
		drop(l);
		return -EINVAL;
	}
	if (l->lines.n >= MAX_LINES || before >= MAX_FILES || l->files_size >= MAX_FILE_NAMES) {
		drop(l);
		return -ENOSPC;
	}
	/* V8 and perf's own agents write this byte for "the same as before". */
	if (strcmp(file, "\xff"))
		line.file = strtab_add(l->files, file);
	else if (l->lines.n > l->first)
		line.file = l->lines.v[l->lines.n - 1].file;
	if (strtab_count(l->files) > before)
		l->files_size += strlen(file) + 1;
	vec_push(&l->lines, line);
	return 0;
}

/*
 * By offset; at one, in the order in which they were told: qsort(3) need not keep it, so it goes by
 * a merge.
 */
static void sort(struct line *v, size_t n)
{
	struct line *from = v, *to, *spare;
	size_t i = 1;

	while (i < n && v[i - 1].offset <= v[i].offset)
		i++;
	if (i >= n)
		return;
	spare = xreallocarray(NULL, n, sizeof(*spare));
	to = spare;
	for (size_t width = 1; width < n; width *= 2) {
		struct line *other = from;

		for (size_t low = 0; low < n; low += 2 * width) {
			size_t a = low, middle = low + width < n ? low + width : n, b = middle;
			size_t high = low + 2 * width < n ? low + 2 * width : n;

			for (size_t out = low; out < high; out++)
				to[out] = a < middle && (b >= high ||
							 from[a].offset <= from[b].offset)
						  ? from[a++]
						  : from[b++];
		}
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(spare);
}

/*
 * V8 calls functions "JS:*name file:line:column" (tag, tier, name). It places
 * lines 64 bytes late, for the ELF header that older perf put before the code;
 * and for baseline code ("^") it takes offsets of the bytecode for offsets of
 * the code (seen with Node 20).
 * Returns the bytes to take off, or a negative errno: the lines are wrong.
 */
static int bias_of(const char *name, const struct line *v, size_t n)
{
	static const char *const tags[] = { "JS:", "Script:", "Eval:", "Function:",
					    "LazyCompile:" };

	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		size_t length = strlen(tags[i]);

		if (strncmp(name, tags[i], length))
			continue;
		if (name[length] == '^')
			return -EINVAL;
		for (size_t j = 0; j < n; j++)
			if (v[j].offset < V8_BIAS)
				return 0;
		return V8_BIAS;
	}
	return 0;
}

struct jit_lines_of jit_lines_claim(struct jit_lines *l, const char *name, uint64_t address,
				    uint64_t size)
{
	size_t n = l->lines.n - l->first;
	struct jit_lines_of of = { l->first, (uint32_t)n };
	struct line *v;
	int bias;

	if (!l->good || !n || address != l->address)
		return (struct jit_lines_of){ 0 };
	v = l->lines.v + l->first;
	bias = bias_of(name, v, n);
	for (size_t i = 0; i < n && bias >= 0; i++) {
		v[i].offset -= (uint32_t)bias;
		if (v[i].offset > size)		/* right at its end: a mark of the end */
			bias = -EINVAL;
	}
	if (bias < 0) {
		drop(l);
		return (struct jit_lines_of){ 0 };
	}
	sort(v, n);
	l->first = (uint32_t)l->lines.n;
	l->good = 0;
	return of;
}

int jit_lines_find(const struct jit_lines *l, const struct jit_lines_of *of, uint32_t offset,
		   uint32_t *file, uint32_t *line)
{
	size_t low = of->first + upper_bound(l->lines.v + of->first, of->n, .offset, offset);

	if (low == of->first)
		return -ENOENT;
	*file = l->lines.v[low - 1].file;
	*line = l->lines.v[low - 1].line;
	return 0;
}

const char *jit_lines_file(const struct jit_lines *l, uint64_t token)
{
	return token && token < strtab_count(l->files) ? strtab_get(l->files, (uint32_t)token)
						       : NULL;
}
