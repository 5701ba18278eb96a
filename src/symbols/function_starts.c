/* SPDX-License-Identifier: MIT */
#include "symbols/function_starts.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"
#include "base/vec.h"
#include "dwarf/cfi_load.h"
#include "elf/elf_code.h"
#include "elf/elf_main.h"

/* What a function is; a token of its name. */
enum kind { NAMELESS = FUNCTION_NAMELESS, ENTRY, MAIN, INIT, FINI };
static const char *const names[] = {
	[ENTRY] = "_start", [MAIN] = "main", [INIT] = "_init", [FINI] = "_fini"
};

struct stretch {
	uint64_t start;
	uint32_t size;		/* bytes */
	uint32_t kind;
};

struct function_starts {
	struct symbol_source source;
	VEC(struct stretch) all;	/* ascending; they do not overlap */
};

static const struct function_starts *self(const struct symbol_source *s)
{
	return (const struct function_starts *)s;
}

/* --- As a source. ------------------------------------------------------------------ */

static int find(const struct symbol_source *s, uint64_t address, struct source_function *out)
{
	const struct function_starts *f = self(s);
	size_t low = upper_bound(f->all.v, f->all.n, .start, address);
	const struct stretch *last = low ? &f->all.v[low - 1] : NULL;

	if (!last || address - last->start >= last->size)
		return -ENOENT;
	*out = (struct source_function){ .start = last->start, .token = last->kind };
	return 0;
}

static int name(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	(void)s;
	if (token == NAMELESS || token >= sizeof(names) / sizeof(*names))
		return -ENODATA;
	snprintf(dst, size, "%s", names[token]);
	return 0;
}

static void free_source(struct symbol_source *s)
{
	struct function_starts *f = (struct function_starts *)s;

	vec_free(&f->all);
	free(f);
}

static size_t bytes(const struct symbol_source *s)
{
	return sizeof(struct function_starts) + self(s)->all.cap * sizeof(struct stretch);
}

static const struct symbol_source_ops ops = {
	.find = find, .name = name, .free = free_source, .bytes = bytes
};

int function_starts_between(const struct symbol_source *s, uint64_t after, uint64_t upto)
{
	const struct function_starts *f = self(s);
	size_t low = upper_bound(f->all.v, f->all.n, .start, upto);

	return low && f->all.v[low - 1].start > after;
}

/* --- Opening. ------------------------------------------------------------------------- */

/* Adds [@start, @end) as far as it is code of the file. */
static void add(struct function_starts *f, const struct elf_code *code, uint64_t start,
		uint64_t end, enum kind kind)
{
	const struct elf_segment *s = elf_code_at(code, start);

	if (!s || end <= start)
		return;
	if (end - s->vaddr > s->filesz)
		end = s->vaddr + s->filesz;
	if (end - start > UINT32_MAX)
		end = start + UINT32_MAX;
	vec_push(&f->all, (struct stretch){ start, (uint32_t)(end - start), kind });
}

static void add_fdes(struct function_starts *f, const struct elf_code *code,
		     const struct cfi_section *section)
{
	struct cfi_fde *fdes = NULL;
	size_t n = 0;

	if (cfi_fdes(section, &fdes, &n) < 0)
		return;
	vec_reserve(&f->all, f->all.n + n);
	/* What the linker threw away begins at 0 in .debug_frame. */
	for (size_t i = 0; i < n; i++)
		if (fdes[i].start)
			add(f, code, fdes[i].start, fdes[i].end, NAMELESS);
	free(fdes);
}

static void add_frames(struct function_starts *f, const struct elf_code *code,
		       const struct elf_file *elf,
		       int (*load)(const struct elf_file *elf, struct cfi_section *out))
{
	struct cfi_section section;

	if (load(elf, &section))
		return;
	add_fdes(f, code, &section);
	free((void *)(uintptr_t)section.data);
}

static int load_debug_frame(const struct elf_file *elf, struct cfi_section *out)
{
	return cfi_load_section(elf, ".debug_frame", out);
}

/* crti.o's, whose parts have no FDEs: one function in a section of its own. */
static void add_section(struct function_starts *f, const struct elf_code *code,
			const struct elf_file *elf, const char *section, enum kind kind)
{
	const struct elf_section *s = elf_file_section(elf, section);

	if (s && s->type == SHT_PROGBITS && s->flags & SHF_EXECINSTR &&
	    s->size <= UINT64_MAX - s->addr)
		add(f, code, s->addr, s->addr + s->size, kind);
}

/* Linkers sort the code, but not always what tells of it. */
static void sort(struct function_starts *f)
{
	struct stretch *sorted;
	struct sort_key *keys;

	if (!f->all.n)
		return;
	keys = xreallocarray(NULL, f->all.n, sizeof(*keys));
	sorted = xreallocarray(NULL, f->all.n, sizeof(*sorted));
	for (size_t i = 0; i < f->all.n; i++)
		keys[i] = (struct sort_key){ f->all.v[i].start, (uint32_t)i };
	keys = sort_keys(keys, f->all.n);
	for (size_t i = 0; i < f->all.n; i++)
		sorted[i] = f->all.v[keys[i].place];
	free(keys);
	free(f->all.v);
	f->all.v = sorted;
	f->all.cap = f->all.n;
}

/* Each start once, and none reaches into the next one. */
static void part(struct function_starts *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->all.n; i++) {
		struct stretch s = f->all.v[i], *last = kept ? &f->all.v[kept - 1] : NULL;

		if (last && last->start == s.start) {
			last->size = s.size > last->size ? s.size : last->size;
			last->kind = last->kind ? last->kind : s.kind;
			continue;
		}
		if (last && last->size > s.start - last->start)
			last->size = (uint32_t)(s.start - last->start);
		f->all.v[kept++] = s;
	}
	f->all.n = kept;
}

/* The function that begins at @address is known as @kind. */
static void know(struct function_starts *f, uint64_t address, enum kind kind)
{
	size_t low = upper_bound(f->all.v, f->all.n, .start, address);

	if (low && f->all.v[low - 1].start == address)
		f->all.v[low - 1].kind = kind;
}

struct symbol_source *function_starts_open(const struct elf_file *elf, const struct elf_file *debug)
{
	struct function_starts *f = xcalloc(1, sizeof(*f));
	uint64_t main = elf_main(elf);
	struct elf_code code;

	f->source.ops = &ops;
	elf_code_collect(elf, &code);
	add_section(f, &code, elf, ".init", INIT);
	add_frames(f, &code, elf, cfi_load_eh_frame);
	add_frames(f, &code, elf, load_debug_frame);
	if (debug)
		add_frames(f, &code, debug, load_debug_frame);
	add_section(f, &code, elf, ".fini", FINI);
	elf_code_free(&code);
	sort(f);
	part(f);
	/* A library's entry point is whatever it prints its version with. */
	if (main || elf_file_type(elf) == ET_EXEC)
		know(f, elf_file_entry(elf), ENTRY);
	if (main)
		know(f, main, MAIN);
	if (f->all.n)
		return &f->source;
	free_source(&f->source);
	errno = ENODATA;
	return NULL;
}
