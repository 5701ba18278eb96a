/* SPDX-License-Identifier: MIT */
#include "probes/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/dwarf_functions.h"
#include "dwarf/dwarf_lines.h"

#define PATH_BYTES 4096

struct place {
	uint32_t node;		/* of the function */
	uint64_t address;
};

struct look {
	const char *source;
	uint32_t line, next;
	int known;		/* some unit has the file */
	probe_lines_take *take;
	void *ctx;
	VEC(struct place) places;	/* of a unit */
};

static int is_source(const char *path, const char *source)
{
	size_t n = strlen(path), end = strlen(source);

	return n >= end && !strcmp(path + n - end, source) &&
	       (n == end || *source == '/' || path[n - end - 1] == '/');
}

/* A byte for each file of @l: whether it is the one; NULL: none is. */
static uint8_t *find_files(const struct dwarf_lines *l, const char *source)
{
	uint8_t *is = xcalloc(l->files.n + 1, 1);
	char path[PATH_BYTES];
	int any = 0;

	for (size_t i = 0; i < l->files.n; i++) {
		is[i] = !dwarf_lines_file(l, i, path, sizeof(path)) && is_source(path, source);
		any |= is[i];
	}
	if (any)
		return is;
	free(is);
	return NULL;
}

static int is_at(const struct dwarf_lines *l, size_t i, const uint8_t *files)
{
	uint32_t file = l->rows.v[i].file;

	return file < l->files.n && files[file];
}

/* Of each function the lowest address: optimized, a line is in several pieces. */
static void add(struct look *k, uint32_t node, uint64_t address)
{
	for (size_t i = 0; i < k->places.n && node != DWARF_NO_NODE; i++)
		if (k->places.v[i].node == node)
			return;
	vec_push(&k->places, (struct place){ node, address });
}

static void take_rows(struct look *k, const struct dwarf_unit *u, const struct dwarf_lines *l,
		      const uint8_t *files)
{
	struct dwarf_functions functions = { 0 };

	dwarf_functions_read(u, &functions);
	k->places.n = 0;
	for (size_t i = 0; i < l->rows.n; i++) {
		const struct dwarf_row *row = &l->rows.v[i];

		if (!is_at(l, i, files))
			continue;
		if (row->line == k->line)
			add(k, dwarf_functions_find(&functions, row->address), row->address);
		else if (row->line > k->line && (!k->next || row->line < k->next))
			k->next = row->line;
	}
	for (size_t i = 0; i < k->places.n; i++)
		k->take(k->ctx, k->places.v[i].address);
	dwarf_functions_free(&functions);
}

static void look_at(struct look *k, const struct dwarf_unit *u)
{
	struct dwarf_lines l;
	uint8_t *files = dwarf_lines_read(u, 0, &l) ? NULL : find_files(&l, k->source);

	dwarf_lines_free(&l);
	if (!files)
		return;
	k->known = 1;
	if (!dwarf_lines_read(u, 1, &l))
		take_rows(k, u, &l, files);
	dwarf_lines_free(&l);
	free(files);
}

int probe_lines_each(const struct elf_file *f, const char *source, uint32_t line,
		     probe_lines_take *take, void *ctx, uint32_t *next)
{
	struct look k = { .source = source, .line = line, .take = take, .ctx = ctx };
	struct dwarf_file dwarf;
	dwarf_units units = { 0 };
	int err = dwarf_file_open(&dwarf, f, 0);

	if (err)
		return err;
	dwarf_units_read(&dwarf, NULL, &units);
	for (size_t i = 0; i < units.n; i++)
		look_at(&k, &units.v[i]);
	*next = k.next;
	vec_free(&k.places);
	vec_free(&units);
	dwarf_file_close(&dwarf);
	return k.known ? 0 : -ENOENT;
}
