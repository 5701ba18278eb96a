/* SPDX-License-Identifier: MIT */
/*
 * DWARF that is well formed, but no compiler's: it must not lead us out of what there is, nor take
 * long, nor much memory.
 */
#include "unit/test.h"

#include <dwarf.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/vec.h"
#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_lines.h"
#include "elf/elf_file.h"
#include "symbols/dwarf_symbols.h"

#define CODE	0x400000u
#define END	"\0\0"

typedef VEC(uint8_t) bytes;

static void put(bytes *b, const void *p, size_t n)
{
	vec_reserve(b, b->n + n);
	memcpy(b->v + b->n, p, n);
	b->n += n;
}

static void number(bytes *b, uint64_t x, unsigned size)
{
	put(b, &x, size);
}

#define TEXT(b, s) put(b, s, sizeof(s) - 1)

/* A file of two sections, and of a third one unless it is NULL. */
static bytes file_of(const bytes *info, const bytes *abbrev, const char *name, const bytes *third,
		     uint64_t flags)
{
	static const char names[] = "\0.debug_info\0.debug_abbrev";
	const bytes *data[] = { info, abbrev, third };
	Elf64_Ehdr h = { .e_ident = ELFMAG "\2\1\1",
			 .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 5,
			 .e_shstrndx = 4 };
	Elf64_Shdr s[5] = { { 0 } };
	bytes out = { 0 };

	put(&out, &h, sizeof(h));
	for (int i = 0; i < 3; i++) {
		s[i + 1] = (Elf64_Shdr){ .sh_name = i == 1   ? 13
						    : i == 2 ? sizeof(names)
							     : 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_flags = flags,
					 .sh_offset = out.n,
					 .sh_size = data[i] ? data[i]->n : 0 };
		if (data[i] && data[i]->n)
			put(&out, data[i]->v, data[i]->n);
	}
	s[4] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
			     .sh_offset = out.n,
			     .sh_size = sizeof(names) + strlen(name) + 1 };
	put(&out, names, sizeof(names));
	put(&out, name, strlen(name) + 1);
	while (out.n % 8)
		number(&out, 0, 1);
	h.e_shoff = out.n;
	put(&out, s, sizeof(s));
	memcpy(out.v, &h, sizeof(h));
	return out;
}

static Elf64_Shdr *sections_of(const bytes *file)
{
	return (Elf64_Shdr *)(file->v + ((Elf64_Ehdr *)file->v)->e_shoff);
}

/* A unit of version 4, or 5 with @type, whose entries are @dies. */
static void unit(bytes *info, unsigned version, const bytes *dies)
{
	number(info, dies->n + (version == 5 ? 8 : 7), 4);
	number(info, version, 2);
	if (version == 5)
		TEXT(info, "\1\10");
	number(info, 0, 4);
	if (version == 4)
		number(info, 8, 1);
	put(info, dies->v, dies->n);
}

/* Abbreviation 1, of a unit of CODE and 256 bytes. */
#define UNIT_ABBREV	"\1\21\1\21\1\22\6" END
static void begin_unit(bytes *dies)
{
	TEXT(dies, "\1");
	number(dies, CODE, 8);
	number(dies, 256, 4);
}

/* How many frames CODE has, and the names that could be read. */
static int look_up(const bytes *file, int *named)
{
	struct elf_file *elf = elf_file_open_memory(file->v, file->n);
	struct symbol_source *s = dwarf_symbols_open(elf, NULL, NULL, 0);
	struct source_frame frames[SOURCE_FRAMES_MAX];
	char text[64];
	int n = s ? s->ops->frames(s, CODE, frames) : -1;

	*named = 0;
	for (int i = 0; i < n; i++)
		*named += !s->ops->name(s, frames[i].function, text, sizeof(text));
	symbol_source_free(s);
	elf_file_free(elf);
	return n;
}

/*
 * A function refers to another entry: to where nothing is, to beyond its file, or to what looks
 * like a token of ours.
 */
TEST(references_of_any_number)
{
	static const uint64_t wild[] = { 0,
					 1,
					 1ull << 40,
					 1ull << 62,
					 1ull << 62 | 3ull << 40 | 0x30,
					 1ull << 62 | 0x3fffffull << 40,
					 3ull << 62,
					 UINT64_MAX,
					 UINT64_MAX >> 1,
					 1ull << 63 };

	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		bytes info = { 0 }, abbrev = { 0 }, dies = { 0 }, file;
		int named;

		TEXT(&abbrev, UNIT_ABBREV "\2\56\0\21\1\22\6\61\24" END "\0");
		begin_unit(&dies);
		TEXT(&dies, "\2");
		number(&dies, CODE, 8);
		number(&dies, 256, 4);
		number(&dies, wild[i], 8);
		unit(&info, 4, &dies);
		file = file_of(&info, &abbrev, "", NULL, 0);
		CHECK_EQ(look_up(&file, &named), 1);
		CHECK_EQ(named, 0);
		vec_free(&info);
		vec_free(&abbrev);
		vec_free(&dies);
		vec_free(&file);
	}
}

/* DW_FORM_flag_present takes no bytes: a million of them would be read for each byte of entries. */
TEST(attributes_without_bytes)
{
	for (int n = 30; n < 40; n += 5) {
		bytes info = { 0 }, abbrev = { 0 }, dies = { 0 }, file;
		int named;

		TEXT(&abbrev, UNIT_ABBREV "\2\56\0\21\1\22\6");
		for (int i = 0; i < n; i++)
			TEXT(&abbrev, "\64\31");
		TEXT(&abbrev, END "\0");
		begin_unit(&dies);
		TEXT(&dies, "\2");
		number(&dies, CODE, 8);
		number(&dies, 256, 4);
		unit(&info, 4, &dies);
		file = file_of(&info, &abbrev, "", NULL, 0);
		CHECK_EQ(look_up(&file, &named), n == 30 ? 1 : -2);
		vec_free(&info);
		vec_free(&abbrev);
		vec_free(&dies);
		vec_free(&file);
	}
}

/* DW_AT_ranges of 64-bit DWARF may be any number. */
TEST(lists_outside_of_their_section)
{
	static const uint64_t wild[] = {
		3, 4, 1ull << 32, 1ull << 63, (1ull << 63) + 5, UINT64_MAX - 4095, UINT64_MAX
	};

	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		bytes info = { 0 }, abbrev = { 0 }, list = { 0 }, file;
		int named;

		TEXT(&abbrev, "\1\21\0\125\27" END "\0");
		number(&info, UINT32_MAX, 4);
		number(&info, 2 + 8 + 1 + 1 + 8, 8);
		number(&info, 4, 2);
		number(&info, 0, 8);
		TEXT(&info, "\10\1");
		number(&info, wild[i], 8);
		TEXT(&list, "\1\2\3\4");
		file = file_of(&info, &abbrev, ".debug_ranges", &list, 0);
		CHECK_EQ(look_up(&file, &named), -1);
		vec_free(&info);
		vec_free(&abbrev);
		vec_free(&list);
		vec_free(&file);
	}
}

/*
 * A terabyte of zeros that takes no room on its disk: each four bytes would be a unit of no length.
 */
TEST(holes)
{
	bytes info = { 0 }, abbrev = { 0 }, file;
	int fd = memfd_create("holes", MFD_CLOEXEC);
	struct elf_file *elf;

	TEXT(&abbrev, UNIT_ABBREV "\0");
	number(&info, 0, 8);
	file = file_of(&info, &abbrev, "", NULL, 0);
	sections_of(&file)[1].sh_offset = 1 << 20;
	sections_of(&file)[1].sh_size = 1ull << 40;
	CHECK(write(fd, file.v, file.n) == (ssize_t)file.n &&
	      !ftruncate(fd, (1ll << 40) + (1 << 20)));
	elf = elf_file_open(fd);
	CHECK(elf && elf_file_stored(elf) < 1 << 20);
	CHECK(!dwarf_symbols_open(elf, NULL, NULL, 0));
	elf_file_free(elf);
	close(fd);
	vec_free(&info);
	vec_free(&abbrev);
	vec_free(&file);
}

/* Three sections are the same megabytes of zeros, packed to some kilobytes. */
TEST(sections_of_the_same_packed_bytes)
{
	enum { SIZE = 40 << 20 };
	Elf64_Chdr head = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = SIZE, .ch_addralign = 1 };
	uLongf size = compressBound(SIZE);
	bytes packed = { 0 }, none = { 0 }, file;
	Elf64_Shdr *sections;
	uint8_t *zeros = xcalloc(SIZE, 1), *out = xmalloc(size);
	struct elf_file *elf;
	struct dwarf_file f;

	CHECK(compress2(out, &size, zeros, SIZE, 9) == Z_OK);
	put(&packed, &head, sizeof(head));
	put(&packed, out, size);
	memset(out, 0, 1 << 19);
	put(&packed, out, 1 << 19);	/* or it is refused for how well it was packed */
	file = file_of(&packed, &none, ".debug_str", &none, SHF_COMPRESSED);
	sections = sections_of(&file);
	for (int i = 2; i <= 3; i++) {
		sections[i].sh_offset = sections[1].sh_offset;
		sections[i].sh_size = sections[1].sh_size;
	}
	elf = elf_file_open_memory(file.v, file.n);
	CHECK_EQ(dwarf_file_open(&f, elf, 0), 0);
	CHECK_EQ(f.section[DWARF_INFO].size, SIZE);
	CHECK(dwarf_file_bytes(&f) <= (64u << 20) + 64 * file.n);
	dwarf_file_close(&f);
	elf_file_free(elf);
	free(zeros);
	free(out);
	vec_free(&packed);
	vec_free(&file);
}

/* Tables of abbreviations that begin within each other: each has nearly all of the section. */
TEST(tables_that_overlap)
{
	bytes info = { 0 }, abbrev = { 0 }, file;
	struct elf_file *elf;
	struct dwarf_file f;

	for (int i = 0; i < 200000; i++)
		TEXT(&abbrev, "\2\56\0" END);
	TEXT(&abbrev, "\0");
	number(&info, 0, 4);
	file = file_of(&info, &abbrev, "", NULL, 0);
	elf = elf_file_open_memory(file.v, file.n);
	CHECK_EQ(dwarf_file_open(&f, elf, 0), 0);
	for (unsigned i = 0; i < 40; i++) {
		const struct dwarf_abbrevs *t = dwarf_abbrevs_at(&f, 5 * i);

		CHECK(t && t->list.n == 200000 - i);
		CHECK(f.abbrev_bytes < 100 << 20);
	}
	dwarf_file_close(&f);
	elf_file_free(elf);
	vec_free(&info);
	vec_free(&abbrev);
	vec_free(&file);
}

/* A table of a million directories that take no bytes. */
TEST(entries_without_bytes)
{
	static const char head[] = "\5\0\10\0"
				   "\22\0\0\0"
				   "\1\1\1\1\1\1"
				   "\1\1\31"
				   "\200\200\100"
				   "\1\1\31"
				   "\200\200\100";
	bytes info = { 0 }, abbrev = { 0 }, dies = { 0 }, line = { 0 }, file;
	struct elf_file *elf;
	struct dwarf_file f;
	struct dwarf_lines lines;
	dwarf_units units = { 0 };

	TEXT(&abbrev, "\1\21\0\20\27" END "\0");
	TEXT(&dies, "\1\0\0\0\0");
	unit(&info, 5, &dies);
	number(&line, sizeof(head) - 1, 4);
	TEXT(&line, head);
	file = file_of(&info, &abbrev, ".debug_line", &line, 0);
	elf = elf_file_open_memory(file.v, file.n);
	CHECK_EQ(dwarf_file_open(&f, elf, 0), 0);
	dwarf_units_read(&f, NULL, &units);
	CHECK_EQ(units.n, 1);
	dwarf_lines_read(&units.v[0], 0, &lines);
	CHECK_EQ(lines.version, 5);
	CHECK_EQ(lines.directories.n + lines.files.n, 0);
	dwarf_lines_free(&lines);
	vec_free(&units);
	dwarf_file_close(&f);
	elf_file_free(elf);
	vec_free(&info);
	vec_free(&abbrev);
	vec_free(&dies);
	vec_free(&line);
	vec_free(&file);
}

int main(void)
{
	RUN(references_of_any_number);
	RUN(attributes_without_bytes);
	RUN(lists_outside_of_their_section);
	RUN(holes);
	RUN(sections_of_the_same_packed_bytes);
	RUN(tables_that_overlap);
	RUN(entries_without_bytes);
	return TEST_END();
}
