/* SPDX-License-Identifier: MIT */
#include "elf/elf_lookup.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_code.h"

#define TABLE_MAX (512u << 20)	/* bytes of symbols, or of their names */

/* What is looked for, and where. */
struct lookup {
	struct elf_code code;
	struct elf_function *functions;
	size_t n;
};

/* The file offset of @vaddr; 0: not in the file. */
static uint64_t offset_of(const struct elf_code *code, uint64_t vaddr)
{
	const struct elf_segment *s = elf_code_at(code, vaddr);

	return s ? s->offset + (vaddr - s->vaddr) : 0;
}

static void take(void *ctx, const Elf64_Sym *sym, const char *name)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);
	const struct lookup *l = ctx;

	if (type != STT_FUNC && type != STT_GNU_IFUNC)
		return;
	for (size_t i = 0; i < l->n; i++)
		if (!l->functions[i].offset && !strcmp(l->functions[i].name, name)) {
			l->functions[i].offset = offset_of(&l->code, sym->st_value);
			l->functions[i].size = sym->st_size;
			l->functions[i].ifunc = type == STT_GNU_IFUNC;
		}
}

static int look_in(const struct elf_file *f, const struct elf_section *table,
		   elf_take_symbol *take_symbol, void *ctx)
{
	const struct elf_section *all;
	size_t count = elf_file_sections(f, &all), size, names_size;
	char *symbols, *names;

	if (!elf_file_is64(f) || table->link >= count)
		return -EBADMSG;
	symbols = elf_file_section_data(f, table, TABLE_MAX, &size);
	names = symbols ? elf_file_section_data(f, &all[table->link], TABLE_MAX, &names_size)
			: NULL;
	if (!names) {
		int err = -errno;

		free(symbols);
		return err;
	}
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= size; at += sizeof(Elf64_Sym)) {
		Elf64_Sym sym;

		memcpy(&sym, symbols + at, sizeof(sym));
		if (sym.st_name < names_size && sym.st_shndx != SHN_UNDEF)
			take_symbol(ctx, &sym, names + sym.st_name);
	}
	free(symbols);
	free(names);
	return 0;
}

int elf_lookup_each(const struct elf_file *f, elf_take_symbol *take_symbol, void *ctx)
{
	static const char *const tables[] = { ".dynsym", ".symtab" };
	int err = -ENODATA;

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		const struct elf_section *s = elf_file_section(f, tables[i]);
		int this = s ? look_in(f, s, take_symbol, ctx) : -ENODATA;

		err = err && this ? this : 0;
	}
	return err;
}

/* .gnu.hash begins with this; words of a Bloom filter follow. */
struct gnu_hash {
	uint32_t nbuckets, first, nwords, shift;
};

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

int elf_may_export(const struct elf_file *f, const char *name)
{
	const struct elf_section *s = elf_file_section(f, ".gnu.hash");
	uint32_t h = gnu_hash(name);
	struct gnu_hash head;
	uint64_t word, bits;

	if (!s)
		return elf_file_section(f, ".dynsym") != NULL;
	if (!elf_file_is64(f) || elf_file_read(f, s->offset, &head, sizeof(head)) || !head.nwords ||
	    elf_file_read(f, s->offset + sizeof(head) + h / 64 % head.nwords * sizeof(word), &word,
			  sizeof(word)))
		return 1;
	bits = 1ull << h % 64 | 1ull << (h >> (head.shift & 31)) % 64;
	return (word & bits) == bits;
}

int elf_lookup(const struct elf_file *f, struct elf_function *functions, size_t n)
{
	struct lookup l = { .functions = functions, .n = n };
	int err;

	elf_code_collect(f, &l.code);
	for (size_t i = 0; i < n; i++)
		functions[i] = (struct elf_function){ .name = functions[i].name };
	err = elf_lookup_each(f, take, &l);
	elf_code_free(&l.code);
	return err;
}
