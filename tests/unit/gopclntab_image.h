/* SPDX-License-Identifier: MIT */
/*
 * A small Go program in memory, as the linkers of several versions would write its table:
 *
 *	main.main	[0x401000, 0x401040)	a.go:9
 *	main.outer	[0x401040, 0x401080)	a.go; inlines main.middle, which inlines main.leaf,
 *							of b.go
 *	+0x00 a.go:20   +0x0c a.go:21   +0x10 middle b.go:11   +0x12 leaf b.go:5
 *	+0x20 middle b.go:12   +0x30 a.go:22
 */
#ifndef EBPROF_TESTS_GOPCLNTAB_IMAGE_H
#define EBPROF_TESTS_GOPCLNTAB_IMAGE_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

enum go_version { GO_1_2, GO_1_16, GO_1_18, GO_1_20 };

#define GO_TEXT		0x401000u
#define GO_TABLE	0x400u		/* of the file */
#define GO_READ_ONLY	0x500000u	/* added to an offset in the file: its address */
#define GO_WRITABLE	0x600000u

struct go_image {
	enum go_version version;
	/* header without the text's address; moduledata of relocations alone */
	int no_sections, no_text, relocated;
	int gofunc;				/* word of moduledata; 0: by version */
	_Alignas(8) uint8_t bytes[0x2000];
	size_t size;
	/* Offsets, in the file. */
	size_t names, units, files, values, functions, outer, tree, module;
	uint32_t sp, file[2], line[2], inlined, name[4];	/* in their parts */
};

static inline void go_put(struct go_image *g, uint64_t v, size_t n)
{
	memcpy(g->bytes + g->size, &v, n);
	g->size += n;
}

static inline void go_align(struct go_image *g, size_t n)
{
	g->size = (g->size + n - 1) & ~(n - 1);
}

static inline void go_set(struct go_image *g, size_t at, uint64_t v)
{
	memcpy(g->bytes + at, &v, sizeof(v));
}

static inline void go_number(struct go_image *g, uint32_t v)
{
	for (; v >= 0x80; v >>= 7)
		go_put(g, (v & 0x7f) | 0x80, 1);
	go_put(g, v, 1);
}

/* A table of values: @v are pairs of a value and where it ends; its offset in the values. */
static inline uint32_t go_values(struct go_image *g, const int (*v)[2], int n)
{
	uint32_t at = (uint32_t)(g->size - g->values);

	for (int i = 0; i < n; i++) {
		int change = v[i][0] - (i ? v[i - 1][0] : -1);

		go_number(g, change < 0 ? (uint32_t)~change << 1 | 1 : (uint32_t)change << 1);
		go_number(g, (uint32_t)(v[i][1] - (i ? v[i - 1][1] : 0)));
	}
	go_put(g, 0, 1);
	return at;
}

static inline uint32_t go_text(struct go_image *g, size_t part, const char *s)
{
	uint32_t at = (uint32_t)(g->size - part);

	memcpy(g->bytes + g->size, s, strlen(s) + 1);
	g->size += strlen(s) + 1;
	return at;
}

/* Strings, files and values; in Go 1.2 offsets are from the table's start. */
static inline void go_parts(struct go_image *g)
{
	static const char *const names[] = { "main.main", "main.outer", "main.middle",
					     "main.leaf" };
	int old = g->version == GO_1_2, a = old, b = old + 1;
	const int sp[][2] = { { 0, 4 }, { 24, 0x3c }, { 0, 0x40 } };
	const int files[][2] = { { a, 0x10 }, { b, 0x30 }, { a, 0x40 } };
	const int lines[][2] = { { 20, 0xc }, { 21, 0x10 }, { 11, 0x12 },
				 { 5, 0x20 }, { 12, 0x30 }, { 22, 0x40 } };
	const int inlined[][2] = {
		{ -1, 0x10 }, { 0, 0x12 }, { 1, 0x20 }, { 0, 0x30 }, { -1, 0x40 }
	};
	const int file_main[][2] = { { a, 0x40 } }, line_main[][2] = { { 9, 0x40 } };
	uint32_t file[2];

	g->names = old ? GO_TABLE : g->size;
	go_put(g, 0, 1);
	for (int i = 0; i < 4; i++)
		g->name[i] = go_text(g, g->names, names[i]);
	go_align(g, 8);
	g->units = g->size;
	g->size += 12;
	g->files = old ? GO_TABLE : g->size;
	file[0] = go_text(g, g->files, "/src/a.go");
	file[1] = go_text(g, g->files, "/src/b.go");
	memcpy(g->bytes + g->units, &(uint32_t){ old ? 3 : UINT32_MAX }, 4);
	memcpy(g->bytes + g->units + 4, file, 8);
	go_align(g, 8);
	g->values = old ? GO_TABLE : g->size;
	go_put(g, 0, 1);
	g->sp = go_values(g, sp, 3);
	g->file[0] = go_values(g, file_main, 1);
	g->line[0] = go_values(g, line_main, 1);
	g->file[1] = go_values(g, files, 3);
	g->line[1] = go_values(g, lines, 6);
	g->inlined = go_values(g, inlined, 5);
	go_align(g, 8);
}

/* A function; its offset in the functions. */
static inline uint32_t go_function(struct go_image *g, int i, uint64_t start)
{
	int wide = g->version < GO_1_18;
	uint32_t at;

	go_align(g, 8);
	at = (uint32_t)(g->size - g->functions);
	go_put(g, wide ? start : start - GO_TEXT, wide ? 8 : 4);
	go_put(g, g->name[i], 4);
	go_put(g, 0, 8);	/* args, deferreturn */
	go_put(g, g->sp, 4);
	go_put(g, g->file[i], 4);
	go_put(g, g->line[i], 4);
	/* so many that pointers behind them are not aligned by themselves */
	go_put(g, i ? 4 : 0, 4);
	if (g->version > GO_1_2)
		go_put(g, 1, 4);	/* its compilation unit begins at file 1 */
	if (g->version == GO_1_20)
		go_put(g, 19, 4);	/* its first line */
	go_put(g, 7 | 1 << 8 | (i ? 4u : 0u) << 24, 4);
	if (!i)
		return at;
	go_put(g, 0, 8);
	go_put(g, g->inlined, 4);
	go_put(g, 0, 4);
	if (wide) {
		go_align(g, 8);
		for (int k = 0; k < 3; k++)
			go_put(g, 0, 8);
		go_put(g, GO_READ_ONLY + g->tree, 8);
	} else {
		go_put(g, UINT64_MAX, 8);
		go_put(g, UINT32_MAX, 4);
		go_put(g, 16, 4);
	}
	return at;
}

/* Functions, and the table of them. */
static inline void go_functions(struct go_image *g)
{
	size_t width = g->version < GO_1_18 ? 8 : 4, table = g->size;
	uint64_t starts[] = { 0, 0x40, 0x80 };
	uint32_t at[3] = { 0 };

	g->functions = g->version == GO_1_2 ? GO_TABLE : table;
	if (g->version == GO_1_2)
		table = GO_TABLE + 16;
	else
		g->size += 5 * width;
	at[0] = go_function(g, 0, GO_TEXT);
	at[1] = go_function(g, 1, GO_TEXT + 0x40);
	g->outer = g->functions + at[1];
	for (int i = 0; i < 3; i++) {
		starts[i] += width == 8 ? GO_TEXT : 0;
		memcpy(g->bytes + table + 2 * i * width, &starts[i], width);
		if (i < 2)
			memcpy(g->bytes + table + (2 * i + 1) * width, &(uint64_t){ at[i] }, width);
	}
	if (g->version == GO_1_2)
		memcpy(g->bytes + table + 5 * width, &(uint32_t){ (uint32_t)g->units - GO_TABLE },
		       4);
}

/* The tree of main.outer's calls, 16 bytes behind what gofunc tells. */
static inline void go_tree(struct go_image *g)
{
	int old = g->version < GO_1_20;

	g->tree = 0x380;
	for (int i = 0; i < 2; i++) {
		size_t back = g->size;

		g->size = g->tree + (size_t)i * (old ? 20 : 16);
		go_put(g, old ? (uint16_t)(i - 1) : 0, 4);
		if (old) {
			go_put(g, (uint32_t)i, 4);	/* file and line of the call */
			go_put(g, i ? 11 : 21, 4);
		}
		go_put(g, g->name[2 + i], 4);
		go_put(g, i ? 0x10 : 0xc, 4);		/* and its place */
		if (!old)
			go_put(g, 1, 4);
		g->size = back;
	}
}

static inline void go_module(struct go_image *g)
{
	uint64_t words[48] = { 0 };
	uint64_t parts[] = { g->names, g->units, g->files, g->values, g->functions, g->functions };
	int gofunc = g->gofunc ? g->gofunc : g->version == GO_1_18 ? 38 : 40;

	words[0] = GO_READ_ONLY + GO_TABLE;
	for (int i = 0; i < 6; i++)
		words[1 + 3 * i] = GO_READ_ONLY + parts[i];
	words[22] = GO_TEXT;
	/* Addresses that are no trees stand around it. */
	for (int i = 23; i < 44; i++)
		words[i] = GO_READ_ONLY + GO_TABLE;
	words[gofunc] = GO_READ_ONLY + g->tree - 16;
	go_align(g, 8);
	g->module = g->size;
	for (int i = 0; i < 48; i++)
		go_put(g, g->relocated ? 0 : words[i], 8);
	if (!g->relocated)
		return;
	/* The dynamic section, and the relocations, in the read-only segment. */
	go_put(g, DT_RELA, 8);
	go_put(g, GO_READ_ONLY + g->size + 5 * 8, 8);
	go_put(g, DT_RELASZ, 8);
	go_put(g, 44 * sizeof(Elf64_Rela), 8);
	go_put(g, DT_NULL, 8);
	go_put(g, 0, 8);
	for (int i = 0; i < 44; i++) {
		go_put(g, GO_WRITABLE + g->module + 8 * (uint64_t)i, 8);
		go_put(g, R_X86_64_RELATIVE, 8);
		go_put(g, words[i], 8);
	}
}

/* Adds the section headers and their names: where they are. */
static inline size_t go_sections(struct go_image *g)
{
	static const char names[] = "\0.text\0.gopclntab\0.shstrtab";
	Elf64_Shdr sections[4] = {
		{ .sh_name = 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_NOBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = GO_TEXT,
		  .sh_size = 0x1000 },
		{ .sh_name = 7,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = GO_READ_ONLY + GO_TABLE,
		  .sh_offset = GO_TABLE,
		  .sh_size = g->module - GO_TABLE },
		{ .sh_name = 18, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
	};
	size_t at;

	sections[3].sh_offset = g->size;
	memcpy(g->bytes + g->size, names, sizeof(names));
	g->size += sizeof(names);
	go_align(g, 8);
	at = g->size;
	memcpy(g->bytes + at, sections, sizeof(sections));
	g->size += sizeof(sections);
	return at;
}

static inline void go_elf(struct go_image *g)
{
	size_t data = g->module + (g->relocated ? 48 * 8 : 0);
	Elf64_Ehdr h = { .e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = 1,
			 .e_entry = GO_TEXT,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_phoff = sizeof(h),
			 .e_phnum = g->relocated ? 4 : 3,
			 .e_shnum = 4,
			 .e_shstrndx = 3 };
	Elf64_Phdr segments[4] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_vaddr = GO_TEXT,
		  .p_memsz = 0x1000 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_vaddr = GO_READ_ONLY,
		  .p_filesz = g->size,
		  .p_memsz = g->size },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = g->module,
		  .p_vaddr = GO_WRITABLE + g->module,
		  .p_filesz = 48 * 8,
		  .p_memsz = 48 * 8 },
		{ .p_type = PT_DYNAMIC,
		  .p_flags = PF_R,
		  .p_offset = data,
		  .p_filesz = 6 * 8,
		  .p_memsz = 6 * 8 },
	};

	if (g->no_sections)
		h.e_shnum = h.e_shstrndx = 0;
	else
		h.e_shoff = go_sections(g);
	memcpy(g->bytes, &h, sizeof(h));
	memcpy(g->bytes + h.e_phoff, segments, h.e_phnum * sizeof(*segments));
}

/* Makes the image that the first members ask for. */
static inline void go_image_make(struct go_image *g)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1 };
	size_t word = GO_TABLE + 24;

	memset(g->bytes, 0, sizeof(g->bytes));
	g->tree = 0x380;
	/* the header; in Go 1.2, and the table of functions behind 16 bytes of it */
	g->size = GO_TABLE + 72;
	go_parts(g);
	go_functions(g);
	go_tree(g);
	go_set(g, GO_TABLE, magics[g->version] | 1ull << 48 | 8ull << 56);
	go_set(g, GO_TABLE + 8, 2);
	if (g->version > GO_1_2) {
		size_t parts[] = { g->names, g->units, g->files, g->values, g->functions };

		go_set(g, GO_TABLE + 16, 2);
		if (g->version >= GO_1_18) {
			go_set(g, word, g->no_text ? 0 : GO_TEXT);
			word += 8;
		}
		for (int i = 0; i < 5; i++, word += 8)
			go_set(g, word, parts[i] - GO_TABLE);
	}
	go_module(g);
	go_elf(g);
}

#endif
