/* SPDX-License-Identifier: MIT */
#include "symbols/plt_symbols.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "base/vec.h"

#define CODE_MAX	(16u << 20)	/* bytes of one section */
#define RELOCATIONS_MAX	(64u << 20)
#define BATCH		512		/* relocations read at once */
#define STUB		16		/* bytes of a stub; 8 where its section says so */

struct stub {
	uint64_t start, end;
	uint64_t name;			/* offset in the dynamic string table */
};

struct slot {
	uint64_t address;
	uint32_t symbol;
};

struct plt_symbols {
	struct symbol_source source;
	const struct elf_file *elf;
	uint64_t strings, strings_size;	/* .dynstr, where it lies in the file */
	VEC(struct stub) stubs;		/* ascending */
};

static const struct plt_symbols *self(const struct symbol_source *s)
{
	return (const struct plt_symbols *)(const void *)s;
}

/* --- As a source. --------------------------------------------------------------- */

static int find(const struct symbol_source *s, uint64_t address, struct source_function *out)
{
	const struct plt_symbols *p = self(s);
	size_t low = upper_bound(p->stubs.v, p->stubs.n, .start, address);

	if (!low || address >= p->stubs.v[low - 1].end)
		return -ENOENT;
	*out = (struct source_function){ .start = p->stubs.v[low - 1].start,
					 .token = p->stubs.v[low - 1].name };
	return 0;
}

static int name(const struct symbol_source *s, uint64_t token, char *dst, size_t size)
{
	const struct plt_symbols *p = self(s);

	if (token >= p->strings_size)
		return -EBADMSG;
	return elf_file_string(p->elf, p->strings + token, p->strings + p->strings_size, dst, size);
}

static void free_source(struct symbol_source *s)
{
	struct plt_symbols *p = (struct plt_symbols *)s;

	vec_free(&p->stubs);
	free(p);
}

static size_t bytes(const struct symbol_source *s)
{
	return sizeof(struct plt_symbols) + self(s)->stubs.cap * sizeof(struct stub);
}

static const struct symbol_source_ops ops = {
	.find = find, .name = name, .free = free_source, .bytes = bytes
};

/* --- Opening. ---------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int by_start(const void *a, const void *b)
{
	const struct stub *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

typedef VEC(struct slot) slots;

/*
 * The slots that the dynamic linker fills with functions' addresses. A large program has a million
 * relocations of other kinds.
 */
static void take_slots(const struct elf_file *elf, const char *section, slots *out)
{
	const struct elf_section *s = elf_file_section(elf, section);
	int readable = s && s->type != SHT_NOBITS && !(s->flags & SHF_COMPRESSED) &&
		       s->size <= RELOCATIONS_MAX;
	uint64_t n = readable ? s->size / sizeof(Elf64_Rela) : 0;
	Elf64_Rela batch[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		size_t part = n - i < BATCH ? (size_t)(n - i) : BATCH;

		if (elf_file_read(elf, s->offset + i * sizeof(*batch), batch,
				  part * sizeof(*batch)))
			return;
		for (size_t k = 0; k < part; k++) {
			uint64_t info = batch[k].r_info;

			if (ELF64_R_TYPE(info) == R_X86_64_JUMP_SLOT ||
			    ELF64_R_TYPE(info) == R_X86_64_GLOB_DAT)
				vec_push(out, (struct slot){ batch[k].r_offset,
							     (uint32_t)ELF64_R_SYM(info) });
		}
	}
}

/* The slot that the stub at @code jumps through: [endbr64] [bnd] jmp *disp(%rip). 0: none. */
static uint64_t slot_of(const uint8_t *code, size_t size, uint64_t address)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = size > 4 && !memcmp(code, endbr, 4) ? 4 : 0;
	int32_t disp;

	at += at < size && code[at] == 0xf2;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&disp, code + at + 2, sizeof(disp));
	return address + at + 6 + (uint64_t)(int64_t)disp;
}

static void take_stubs(struct plt_symbols *p, const char *section, const slots *slots,
		       const Elf64_Sym *symbols, size_t n)
{
	const struct elf_section *s = elf_file_section(p->elf, section);
	size_t size, step = s && s->entsize == 8 ? 8 : STUB;
	uint8_t *code = s ? elf_file_section_data(p->elf, s, CODE_MAX, &size) : NULL;

	for (size_t at = 0; code && at + 8 <= size; at += step) {
		size_t bytes = size - at < step ? size - at : step;
		struct slot key = { .address = slot_of(code + at, bytes, s->addr + at) };
		const struct slot *slot = !key.address || !slots->n
						  ? NULL
						  : bsearch(&key, slots->v, slots->n, sizeof(key),
							    by_address);

		if (slot && slot->symbol && slot->symbol < n)
			vec_push(&p->stubs, (struct stub){ s->addr + at, s->addr + at + bytes,
							   symbols[slot->symbol].st_name });
	}
	free(code);
}

static void read_stubs(struct plt_symbols *p)
{
	const struct elf_section *all, *symbols = elf_file_section(p->elf, ".dynsym");
	size_t n = elf_file_sections(p->elf, &all), size;
	slots slots = { 0 };
	Elf64_Sym *table;

	if (!symbols || symbols->link >= n)
		return;
	table = elf_file_section_data(p->elf, symbols, RELOCATIONS_MAX, &size);
	if (!table)
		return;
	p->strings = all[symbols->link].offset;
	p->strings_size = all[symbols->link].size;
	take_slots(p->elf, ".rela.plt", &slots);
	take_slots(p->elf, ".rela.dyn", &slots);
	if (slots.n > 1)
		qsort(slots.v, slots.n, sizeof(*slots.v), by_address);
	take_stubs(p, ".plt", &slots, table, size / sizeof(*table));
	take_stubs(p, ".plt.sec", &slots, table, size / sizeof(*table));
	take_stubs(p, ".plt.got", &slots, table, size / sizeof(*table));
	if (p->stubs.n > 1)
		qsort(p->stubs.v, p->stubs.n, sizeof(*p->stubs.v), by_start);
	vec_free(&slots);
	free(table);
}

struct symbol_source *plt_symbols_open(const struct elf_file *elf)
{
	struct plt_symbols *p = xcalloc(1, sizeof(*p));

	p->source.ops = &ops;
	p->elf = elf;
	if (elf_file_machine(elf) == EM_X86_64 && elf_file_is64(elf))
		read_stubs(p);
	if (p->stubs.n)
		return &p->source;
	free_source(&p->source);
	errno = ENODATA;
	return NULL;
}
