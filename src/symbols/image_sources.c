/* SPDX-License-Identifier: MIT */
#include "symbols/image_sources.h"

#include <errno.h>

#include "symbols/dwarf_symbols.h"
#include "symbols/elf_symbols.h"
#include "symbols/function_starts.h"
#include "symbols/go_symbols.h"
#include "symbols/plt_symbols.h"

void image_sources_close(struct image_sources *s)
{
	for (int i = 0; i < IMAGE_SOURCES; i++) {
		symbol_source_free(s->v[i]);
		s->v[i] = NULL;
	}
	s->sought = 0;
	s->err = s->why = 0;
}

size_t image_sources_bytes(const struct image_sources *s)
{
	size_t bytes = 0;

	for (int i = 0; i < IMAGE_SOURCES; i++)
		bytes += symbol_source_bytes(s->v[i]);
	return bytes;
}

/* --- Opening. ----------------------------------------------------------------- */

static struct symbol_source *open_table(struct image_sources *s, int file)
{
	const struct elf_file *elf = s->files->elf[file];
	struct symbol_source *table = elf ? elf_symbols_open(elf) : NULL;

	if (!table && file == IMAGE_OWN)
		s->err = -errno;
	return table;
}

static struct symbol_source *open_dwarf(struct image_sources *s)
{
	const struct image_files *f = s->files;
	struct symbol_source *dwarf = NULL;

	for (int i = 0; i < IMAGE_FILES && !dwarf; i++)
		if (f->elf[i])
			dwarf = dwarf_symbols_open(f->elf[i], f->alt, f->package, s->target);
	if (dwarf)
		dwarf_symbols_keep(dwarf, s->memory);
	s->split = dwarf && dwarf_symbols_split(dwarf);
	/* Go's own table says the same as DWARF, and cannot be stripped. */
	return dwarf ? dwarf : go_symbols_open(f->elf[IMAGE_OWN]);
}

static struct symbol_source *open_source(struct image_sources *s, int which)
{
	const struct image_files *f = s->files;

	switch (which) {
	case SOURCE_PLT:
		return plt_symbols_open(f->elf[IMAGE_OWN]);
	case SOURCE_STARTS:
		return function_starts_open(f->elf[IMAGE_OWN], f->elf[IMAGE_DEBUG]);
	case SOURCE_DWARF:
		return open_dwarf(s);
	default:
		return open_table(s, which - SOURCE_TABLES);
	}
}

static struct symbol_source *get(struct image_sources *s, int which)
{
	if (!(s->sought & 1u << which)) {
		s->v[which] = open_source(s, which);
		s->sought |= (uint8_t)(1u << which);
	}
	return s->v[which];
}

struct symbol_source *image_sources_dwarf(struct image_sources *s)
{
	return get(s, SOURCE_DWARF);
}

int image_sources_split(struct image_sources *s)
{
	image_sources_dwarf(s);
	return s->split;
}

/* --- Asking. ------------------------------------------------------------------- */

/*
 * In which table @address is: what is exported may be in the file itself alone, the rest in what
 * was split from it. A symbol with a size knows its end, so it is asked no further then.
 */
static int find_in_tables(struct image_sources *s, uint64_t address, struct source_function *out)
{
	struct source_function f;
	int which = -ENOENT;

	for (int i = SOURCE_TABLES; i < SOURCE_TABLES + IMAGE_FILES; i++) {
		const struct symbol_source *table = get(s, i);

		if (!table || table->ops->find(table, address, &f))
			continue;
		if (which < 0 || !f.open_ended || f.start > out->start) {
			*out = f;
			which = i;
		}
		if (!f.open_ended)
			break;
	}
	return which;
}

int image_sources_find(struct image_sources *s, uint64_t address, int only_tables,
		       struct source_function *out)
{
	const struct symbol_source *plt, *starts;
	int which = find_in_tables(s, address, out);

	if (which >= 0 && out->open_ended) {
		starts = get(s, SOURCE_STARTS);
		if (starts && function_starts_between(starts, out->start, address))
			which = -ENOENT;
	}
	if (which >= 0 || only_tables)
		return which;
	plt = get(s, SOURCE_PLT);
	if (plt && !plt->ops->find(plt, address, out))
		return SOURCE_PLT;
	starts = get(s, SOURCE_STARTS);
	if (starts && !starts->ops->find(starts, address, out) && out->token != FUNCTION_NAMELESS)
		return SOURCE_STARTS;
	return -ENOENT;
}

uint64_t image_sources_start(struct image_sources *s, uint64_t address)
{
	const struct symbol_source *starts = get(s, SOURCE_STARTS);
	struct source_function f;

	return starts && !starts->ops->find(starts, address, &f) ? f.start : address;
}

static int why(const struct image_sources *s)
{
	const struct image_files *f = s->files;
	int known = s->v[SOURCE_PLT] || s->v[SOURCE_DWARF];

	for (int i = SOURCE_TABLES; i < SOURCE_TABLES + IMAGE_FILES; i++)
		known |= s->v[i] != NULL;
	if (!known && s->err)
		return s->err;
	/* What is exported has names then, and little else. */
	for (int i = 0; i < IMAGE_FILES; i++)
		if (f->elf[i] && elf_file_section(f->elf[i], ".symtab"))
			return -ENOENT;
	return -ENODATA;
}

int image_sources_why(struct image_sources *s)
{
	if (!s->why)
		s->why = why(s);
	return s->why;
}
