/* SPDX-License-Identifier: MIT */
#include "go/gopclntab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/xalloc.h"

#define MAX_FUNCTIONS	(4u << 20)	/* the largest programs have half a million */
/* bytes, for all that is tried; what is sparse has no end */
#define MAX_SEARCHED	(3ull << 30)
#define BATCH		1024		/* entries of the function table read at once */

/*
 * The newest last. moduledata, before gofunc: Go 1.18; 1.20 has the counters of
 * coverage as well; 1.27 has two more words among the types.
 */
static const struct go_layout layouts[] = {
	{ .magic = 0xfffffffb /* 1.2 */, .width = 8, .name = 8, .pcsp = 20, .size = 40 },
	{ .magic = 0xfffffffa /* 1.16 */,
	  .offsets = 3,
	  .width = 8,
	  .name = 8,
	  .pcsp = 20,
	  .cu = 36,
	  .id = 40,
	  .size = 44,
	  .call = 20 },
	{ .magic = 0xfffffff0 /* 1.18 */,
	  .offsets = 4,
	  .text = 3,
	  .width = 4,
	  .name = 4,
	  .pcsp = 16,
	  .cu = 32,
	  .id = 36,
	  .size = 40,
	  .call = 20,
	  .gofunc = { 38 } },
	{ .magic = 0xfffffff1 /* 1.20 */,
	  .offsets = 4,
	  .text = 3,
	  .width = 4,
	  .name = 4,
	  .pcsp = 16,
	  .cu = 32,
	  .id = 40,
	  .size = 44,
	  .call = 16,
	  .gofunc = { 40, 41, 42 } },
};

int gopclntab_read(const struct gopclntab *t, uint64_t at, void *dst, size_t size)
{
	if (size > t->size || at > t->size - size)
		return -EBADMSG;
	return elf_file_read(t->elf, t->offset + at, dst, size);
}

int gopclntab_string(const struct gopclntab *t, const struct go_part *part, uint64_t at, char *dst,
		     size_t size)
{
	if (at >= part->end - part->at)
		return -EBADMSG;
	return elf_file_string(t->elf, t->offset + part->at + at, t->offset + part->end, dst, size);
}

int gopclntab_is_name(const struct gopclntab *t, uint32_t name)
{
	char two[2];

	if (name >= t->names.end - t->names.at)
		return 0;
	if (!name)
		return !gopclntab_read(t, t->names.at, two, 1) && two[0];
	return !gopclntab_read(t, t->names.at + name - 1, two, 2) && !two[0] && two[1];
}

static uint32_t word(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

int gopclntab_function_read(const struct gopclntab *t, uint32_t index, struct go_function *f)
{
	const struct go_layout *l = t->layout;
	uint64_t at = t->functions.at + t->entries[index].at;
	uint8_t raw[64];
	int err = gopclntab_read(t, at, raw, l->size);

	if (err)
		return err;
	*f = (struct go_function){
		.start = t->base + t->entries[index].start,
		.size = t->entries[index + 1].start - t->entries[index].start,
		.tables = at + l->size,
		.name = word(raw + l->name),
		.pcsp = word(raw + l->pcsp),
		.pcfile = word(raw + l->pcsp + 4),
		.pcln = word(raw + l->pcsp + 8),
		.n_pcdata = word(raw + l->pcsp + 12),
	};
	if (l->cu) {
		f->unit = word(raw + l->cu);
		f->id = raw[l->id];
		f->flags = raw[l->id + 1];
		f->n_funcdata = raw[l->id + 3];
	}
	return 0;
}

/* The number of the function that covers @address, or -ENOENT. */
static int64_t search(const struct gopclntab *t, uint64_t address)
{
	size_t low;

	if (address < t->base || address - t->base >= t->entries[t->n].start)
		return -ENOENT;
	low = upper_bound(t->entries, t->n, .start, address - t->base);
	return low ? (int64_t)low - 1 : -ENOENT;
}

int gopclntab_function(const struct gopclntab *t, uint64_t address, struct go_function *f)
{
	int64_t index = search(t, address);

	return index < 0 ? (int)index : gopclntab_function_read(t, (uint32_t)index, f);
}

/* --- Values. --------------------------------------------------------------------- */

/* The next number, in base 128, the lowest digits first (as in protocol buffers). */
static int next_number(struct go_values *s, uint32_t *out)
{
	*out = 0;
	for (int shift = 0; shift < 35; shift += 7) {
		uint8_t byte;

		if (s->used == s->n) {
			uint64_t left = s->t->values.end - s->at;

			s->n = left < sizeof(s->bytes) ? (size_t)left : sizeof(s->bytes);
			s->used = 0;
			if (!s->n || gopclntab_read(s->t, s->at, s->bytes, s->n))
				return -EBADMSG;
			s->at += s->n;
		}
		byte = s->bytes[s->used++];
		*out |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	return -EBADMSG;
}

int gopclntab_values(const struct gopclntab *t, uint32_t table, struct go_values *v)
{
	if (!table || table >= t->values.end - t->values.at)
		return -ENOENT;
	*v = (struct go_values){ .t = t, .at = t->values.at + table, .value = -1 };
	return 0;
}

/*
 * Pairs of differences, of the value (from -1; the sign in the lowest bit) and
 * of the program counter up to which it holds. A difference of 0 is the end,
 * but for the first.
 */
int gopclntab_next(struct go_values *v)
{
	uint32_t change, bytes;

	if (next_number(v, &change))
		return -EBADMSG;
	if (!change && v->begun)
		return -ENOENT;
	if (next_number(v, &bytes) || !bytes)
		return -EBADMSG;
	v->begun = 1;
	v->value = (int32_t)((uint32_t)v->value + (change & 1 ? ~(change >> 1) : change >> 1));
	v->end += (uint64_t)bytes * v->t->quantum;
	return 0;
}

/* --- Opening. ---------------------------------------------------------------------- */

/*
 * Takes @n entries of the function table, or its end, at @at into @out; they must ascend from
 * *@last.
 */
static int read_entries(struct gopclntab *t, uint64_t at, struct go_entry *out, uint32_t n,
			uint64_t *last)
{
	size_t width = t->layout->width;
	union {
		uint64_t wide[2 * BATCH];
		uint32_t narrow[2 * BATCH];
	} raw;
	int err = gopclntab_read(t, at, &raw, n ? 2 * width * n : width);

	if (err)
		return err;
	for (uint32_t i = 0; i < (n ? n : 1); i++) {
		uint64_t start = width == 8 ? raw.wide[2 * i] : raw.narrow[2 * i];
		uint64_t function = !n		 ? 0
				    : width == 8 ? raw.wide[2 * i + 1]
						 : raw.narrow[2 * i + 1];

		/* Addresses: counted from the first of them. */
		if (width == 8 && out == t->entries && !i)
			t->base = *last = start;
		if (start < *last || function > UINT32_MAX)
			return -EBADMSG;
		*last = start;
		start -= width == 8 ? t->base : 0;
		if (start > UINT32_MAX)
			return -EBADMSG;
		out[i] = (struct go_entry){ (uint32_t)start, (uint32_t)function };
	}
	return 0;
}

/* The function table, at @at. */
static int read_functions(struct gopclntab *t, uint64_t at, uint64_t n)
{
	uint64_t last = 0, pair = 2 * t->layout->width;

	if (!n || n > MAX_FUNCTIONS || at > t->size || n > (t->size - at) / pair)
		return -EBADMSG;
	free(t->entries);
	t->entries = xcalloc((size_t)n + 1, sizeof(*t->entries));
	t->n = (uint32_t)n;
	for (uint32_t i = 0; i < t->n; i += BATCH) {
		int err = read_entries(t, at + i * pair, t->entries + i,
				       t->n - i < BATCH ? t->n - i : BATCH, &last);

		if (err)
			return err;
	}
	return read_entries(t, at + n * pair, t->entries + n, 0, &last);
}

/* Is all code that the table speaks of in one executable segment, if the text is at @text? */
static int is_text(const struct gopclntab *t, uint64_t text)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(t->elf, &s);
	uint64_t from = t->layout->width == 8 ? text : text + t->entries[0].start;
	uint64_t size = t->entries[t->n].start - t->entries[0].start;

	if (!text || from < text)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && (s[i].flags & PF_X) && from >= s[i].vaddr &&
		    size <= s[i].memsz && from - s[i].vaddr <= s[i].memsz - size)
			return 1;
	return 0;
}

/*
 * Is the text at @text? Only where the program begins at the beginning of a
 * function with the name that such one has (runtime/rt0_linux_amd64.s).
 */
static int is_entry(struct gopclntab *t, uint64_t text)
{
	uint64_t entry = elf_file_entry(t->elf);
	struct go_function f;
	char name[8];

	t->base = text;
	return !gopclntab_function(t, entry, &f) && f.start == entry &&
	       !gopclntab_string(t, &t->names, f.name, name, sizeof(name)) &&
	       !strncmp(name, "_rt0_", 5);
}

/*
 * Where the text begins. The header has it up to Go 1.25, but may leave it to
 * the dynamic linker in what another linker has made position independent.
 * moduledata has it always. Else it is guessed, and checked.
 */
static int find_text(struct gopclntab *t, uint64_t text)
{
	const struct elf_section *section = elf_file_section(t->elf, ".text");
	uint64_t module[GO_MODULE_WORDS];
	const struct elf_segment *s;
	size_t n = elf_file_segments(t->elf, &s);

	t->base = text;
	if (is_text(t, text))
		return 0;
	if (!gopclntab_module(t, module)) {
		t->base = module[22];
		return is_text(t, t->base) ? 0 : -EBADMSG;
	}
	if (section && is_text(t, section->addr) && is_entry(t, section->addr))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && (s[i].flags & PF_X) && is_text(t, s[i].vaddr) &&
		    is_entry(t, s[i].vaddr))
			return 0;
	return -EBADMSG;
}

/* From Go 1.16 on the header tells where the parts are: one behind the other. */
static int take_parts(struct gopclntab *t, const uint64_t *header)
{
	struct go_part *const parts[] = { &t->names, &t->units, &t->files, &t->values,
					  &t->functions };
	const uint64_t *offsets = header + t->layout->offsets;
	int err;

	for (int i = 0; i < 5; i++) {
		*parts[i] = (struct go_part){ offsets[i], i < 4 ? offsets[i + 1] : t->size };
		if (parts[i]->at > parts[i]->end || parts[i]->end > t->size)
			return -EBADMSG;
	}
	if (t->names.at < (t->layout->offsets + 5u) * 8)
		return -EBADMSG;
	err = read_functions(t, t->functions.at, header[1]);
	if (err)
		return err;
	if (t->layout->text)
		return find_text(t, header[t->layout->text]);
	return is_text(t, t->base) ? 0 : -EBADMSG;
}

/*
 * Before, all offsets were from the table's start; the files stood behind the functions, their
 * number first.
 */
static int take_whole(struct gopclntab *t, const uint64_t *header)
{
	const struct go_part whole = { 0, t->size };
	uint32_t files, n;
	int err = read_functions(t, 16, header[1]);

	if (err)
		return err;
	t->names = t->files = t->values = t->functions = whole;
	err = gopclntab_read(t, 16 + header[1] * 16 + 8, &files, sizeof(files));
	if (!err)
		err = gopclntab_read(t, files, &n, sizeof(n));
	if (err)
		return err;
	if (n > (t->size - files) / sizeof(n))
		return -EBADMSG;
	t->units = (struct go_part){ files, files + (uint64_t)n * sizeof(n) };
	return is_text(t, t->base) ? 0 : -EBADMSG;
}

/* Takes what begins at @offset as the table. */
static int take(struct gopclntab *t)
{
	uint64_t header[9] = { 0 };
	uint8_t first[8];
	int err = gopclntab_read(t, 0, first, sizeof(first));

	if (!err)
		err = gopclntab_read(t, 0, header,
				     t->size < sizeof(header) ? (size_t)t->size & ~7u
							      : sizeof(header));
	if (err)
		return err;
	/* Magic, two zeros, what an instruction's size is a multiple of, the size of a pointer. */
	if (first[4] || first[5] || (first[6] != 1 && first[6] != 2 && first[6] != 4) ||
	    (first[7] != 4 && first[7] != 8))
		return -EBADMSG;
	t->layout = NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].magic == word(first))
			t->layout = &layouts[i];
	if (!t->layout || first[7] != 8)
		return -ENOTSUP;
	t->quantum = first[6];
	return t->layout->offsets ? take_parts(t, header) : take_whole(t, header);
}

struct gopclntab *gopclntab_open(const struct elf_file *elf)
{
	struct gopclntab *t = xcalloc(1, sizeof(*t));
	int err;

	t->elf = elf;
	t->left = MAX_SEARCHED;
	err = gopclntab_locate(t, take);
	if (!err)
		return t;
	gopclntab_free(t);
	errno = -err;
	return NULL;
}

void gopclntab_free(struct gopclntab *t)
{
	if (!t)
		return;
	free(t->entries);
	free(t);
}
