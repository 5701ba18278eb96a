/* SPDX-License-Identifier: MIT */
#include "lang/hotspot_tables.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "base/xalloc.h"
#include "elf/elf_lookup.h"

#define FIELD_BYTES	48	/* of a VMStructEntry */
#define FIELD_STATIC	24
#define FIELD_OFFSET	32
#define FIELD_ADDRESS	40
#define TYPE_BYTES	40	/* of a VMTypeEntry */
#define TYPE_SIZE	32
#define ENTRIES_MAX	4096	/* of a table */
#define RELOCATIONS_MAX (64u << 20)	/* bytes of them */
#define NAME_MAX_BYTES	128
#define CODE_CHUNK	(1u << 20)	/* bytes of code that are searched at once */

struct reading {
	const struct elf_file *f;
	uint64_t fields, types;		/* addresses of the variables that point to the tables */
	Elf64_Rela *relocations;
	size_t n;
	hotspot_take *take;
	void *ctx;
};

/* A table, as it is in a process. */
struct table {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
};

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	if (!strcmp(name, "gHotSpotVMStructs"))
		r->fields = sym->st_value;
	if (!strcmp(name, "gHotSpotVMTypes"))
		r->types = sym->st_value;
}

/* Where @address is in the file, and how many bytes the file has from there on. 0: nowhere. */
static uint64_t place_of(const struct elf_file *f, uint64_t address, uint64_t *bytes)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++) {
		if (s[i].type == PT_LOAD && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].filesz) {
			*bytes = s[i].filesz - (address - s[i].vaddr);
			return s[i].offset + (address - s[i].vaddr);
		}
	}
	return 0;
}

/* The bytes of @t with its pointers. */
static int relocated(const struct reading *r, struct table *t)
{
	uint64_t room, place = place_of(r->f, t->address, &room);

	if (!place)
		return -EBADMSG;
	if (t->size > room)
		t->size = room;
	t->bytes = xmalloc(t->size);
	if (elf_file_read(r->f, place, t->bytes, t->size))
		return -EBADMSG;
	for (size_t i = 0; i < r->n; i++) {
		const Elf64_Rela *rela = &r->relocations[i];
		uint64_t at = rela->r_offset - t->address;
		uint64_t value = (uint64_t)rela->r_addend;

		if (ELF64_R_TYPE(rela->r_info) == R_X86_64_RELATIVE && t->size >= 8 &&
		    at <= t->size - 8)
			memcpy(t->bytes + at, &value, sizeof(value));
	}
	return 0;
}

/* The table that the variable at @variable points to. */
static int read_table(const struct reading *r, uint64_t variable, size_t entry, struct table *t)
{
	struct table pointer = { .address = variable, .size = 8 };
	int err = relocated(r, &pointer);

	t->bytes = NULL;
	if (!err && pointer.size == 8) {
		t->address = load64(pointer.bytes);
		t->size = ENTRIES_MAX * entry;
		err = relocated(r, t);
	}
	free(pointer.bytes);
	return err;
}

#define STORE_BYTES 11	/* movq $imm32, disp32(%rip): 48 c7 05, disp, imm */

/* Does what the stores in @code, which is at @address, do to offsets in @t. Returns how many. */
static size_t apply_stores(struct table *t, const uint8_t *code, size_t n, uint64_t address)
{
	static const uint8_t opcode[] = { 0x48, 0xc7, 0x05 };
	const uint8_t *p = code, *end = code + n;
	size_t found = 0;

	while (end - p >= STORE_BYTES &&
	       (p = memmem(p, (size_t)(end - p), opcode, sizeof(opcode))) &&
	       end - p >= STORE_BYTES) {
		int32_t disp, imm;
		uint64_t at;
		int64_t value;

		memcpy(&disp, p + 3, sizeof(disp));
		memcpy(&imm, p + 7, sizeof(imm));
		value = imm;
		at = address + (uint64_t)(p - code) + STORE_BYTES + (uint64_t)(int64_t)disp -
		     t->address;
		if (at < t->size && at % FIELD_BYTES == FIELD_OFFSET && t->size - at >= 8) {
			memcpy(t->bytes + at, &value, sizeof(value));
			found++;
		}
		p++;
	}
	return found;
}

/* The constructor is one function: the search ends where, after some stores, there are no more. */
static void store_offsets(const struct reading *r, struct table *t)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(r->f, &s), met = 0;
	uint8_t *code = xmalloc(CODE_CHUNK);

	for (size_t i = 0; i < n; i++) {
		for (uint64_t at = 0; s[i].type == PT_LOAD && s[i].flags & PF_X && at < s[i].filesz;
		     at += CODE_CHUNK - STORE_BYTES) {
			uint64_t left = s[i].filesz - at;
			size_t size = left < CODE_CHUNK ? left : CODE_CHUNK, found;

			if (elf_file_read(r->f, s[i].offset + at, code, size))
				break;
			found = apply_stores(t, code, size, s[i].vaddr + at);
			if (met && !found)
				break;
			met += found;
		}
	}
	free(code);
}

static const char *string_at(const struct reading *r, uint64_t address, char *to, size_t size)
{
	uint64_t room, place = address ? place_of(r->f, address, &room) : 0;

	*to = '\0';
	if (place && elf_file_string(r->f, place, place + room, to, size))
		*to = '\0';
	return to;
}

static void give_fields(const struct reading *r, const struct table *t)
{
	char type[NAME_MAX_BYTES], field[NAME_MAX_BYTES];

	for (size_t at = 0; at + FIELD_BYTES <= t->size && load64(t->bytes + at);
	     at += FIELD_BYTES) {
		const uint8_t *p = t->bytes + at;
		struct hotspot_entry entry = {
			.type = string_at(r, load64(p), type, sizeof(type)),
			.field = string_at(r, load64(p + 8), field, sizeof(field)),
			.is_static = p[FIELD_STATIC],
		};

		entry.value = load64(p + (entry.is_static ? FIELD_ADDRESS : FIELD_OFFSET));
		if (*field)
			r->take(r->ctx, &entry);
	}
}

static void give_types(const struct reading *r, const struct table *t)
{
	char type[NAME_MAX_BYTES];

	for (size_t at = 0; at + TYPE_BYTES <= t->size && load64(t->bytes + at); at += TYPE_BYTES)
		r->take(r->ctx, &(struct hotspot_entry){
			.type = string_at(r, load64(t->bytes + at), type, sizeof(type)),
			.field = "",
			.value = load64(t->bytes + at + TYPE_SIZE),
		});
}

static int read_both(struct reading *r)
{
	struct table fields = { 0 }, types = { 0 };
	int err = read_table(r, r->fields, FIELD_BYTES, &fields);

	if (!err)
		err = read_table(r, r->types, TYPE_BYTES, &types);
	if (!err) {
		store_offsets(r, &fields);
		give_fields(r, &fields);
		give_types(r, &types);
	}
	free(fields.bytes);
	free(types.bytes);
	return err;
}

int hotspot_tables_each(const struct elf_file *f, hotspot_take *take, void *ctx)
{
	const struct elf_section *section = elf_file_section(f, ".rela.dyn");
	struct reading r = { .f = f, .take = take, .ctx = ctx };
	size_t size = 0;
	int err;

	elf_lookup_each(f, take_symbol, &r);
	if (!r.fields || !r.types)
		return -ENOENT;
	if (section)
		r.relocations = elf_file_section_data(f, section, RELOCATIONS_MAX, &size);
	r.n = r.relocations ? size / sizeof(*r.relocations) : 0;
	err = read_both(&r);
	free(r.relocations);
	return err;
}
