/* SPDX-License-Identifier: MIT */
/* Where in an ELF file the linker has put Go's table, and what else is needed with it. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "go/gopclntab.h"

#define CHUNK		65536		/* bytes searched at once */
#define MAX_TRIES	16		/* places that look like a header, but are none */
/* entries of the dynamic section; linkers write some thirty */
#define MAX_DYNAMIC	1024
#define MAX_RELOCATIONS	(8u << 20)
#define R_BATCH		1024

_Static_assert(R_AARCH64_RELATIVE == 1027 && R_X86_64_RELATIVE == 8, "of <elf.h>");

int gopclntab_read_memory(const struct elf_file *elf, uint64_t address, void *dst, size_t size)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address >= s[i].vaddr && size <= s[i].filesz &&
		    address - s[i].vaddr <= s[i].filesz - size &&
		    s[i].offset <= UINT64_MAX - s[i].filesz)
			return elf_file_read(elf, s[i].offset + (address - s[i].vaddr), dst, size);
	return -EBADMSG;
}

/*
 * A search of all segments for aligned words. @match tells a found one's address and place; 0 ends
 * the search.
 */
struct search {
	const struct elf_file *elf;
	uint64_t mask, value;
	int skip;	/* segments with these flags are left out */
	int (*match)(struct search *search, const struct elf_segment *in, uint64_t at);
	void *context;
	uint64_t *left;	/* bytes that may still be read */
	int tries;
	int err;	/* the first of @match */
};

/* One segment. */
static int search_segment(struct search *search, const struct elf_segment *s, uint64_t *words)
{
	/*
	 * Tables are aligned in memory; so they are in the file, where a page's offset is the same
	 * in both.
	 */
	uint64_t at = -s->vaddr & 7;

	while (at < s->filesz && *search->left >= CHUNK && search->tries < MAX_TRIES) {
		size_t n = s->filesz - at < CHUNK ? (size_t)(s->filesz - at) & ~(size_t)7 : CHUNK;

		if (!n || elf_file_read(search->elf, s->offset + at, words, n))
			return -ENODATA;
		*search->left -= CHUNK;
		for (size_t i = 0; i < n / 8 && search->tries < MAX_TRIES; i++) {
			int err;

			if ((words[i] & search->mask) != search->value)
				continue;
			search->tries++;
			err = search->match(search, s, at + i * 8);
			if (!err)
				return 0;
			search->err = search->err ? search->err : err;
		}
		at += n;
	}
	return -ENODATA;
}

/* The last segment first: data is at the end, and smaller. 0 when @match says so. */
static int search_all(struct search *search)
{
	uint64_t *words = xmalloc(CHUNK);
	const struct elf_segment *s;
	size_t n = elf_file_segments(search->elf, &s);
	int err = -ENODATA;

	while (err && n-- > 0 && search->tries < MAX_TRIES)
		if (s[n].type == PT_LOAD && !(s[n].flags & (uint32_t)search->skip) &&
		    s[n].offset <= UINT64_MAX - s[n].filesz)
			err = search_segment(search, &s[n], words);
	free(words);
	return err;
}

/* --- The table --- */

static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab" };
/* A C linker may put the table into its .data.rel.ro; these stay. */
static const char *const marks[] = { ".go.buildinfo", ".note.go.buildid", ".gosymtab" };

struct candidate {
	struct gopclntab *t;
	int (*take)(struct gopclntab *t);
};

static int match_table(struct search *search, const struct elf_segment *in, uint64_t at)
{
	struct candidate *c = search->context;

	c->t->offset = in->offset + at;
	c->t->address = in->vaddr + at;
	c->t->size = in->filesz - at;
	return c->take(c->t);
}

static int is_go(const struct elf_file *elf)
{
	const struct elf_section *any;

	if (!elf_file_sections(elf, &any))
		return 1;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (elf_file_section(elf, marks[i]))
			return 1;
	return 0;
}

int gopclntab_locate(struct gopclntab *t, int (*take)(struct gopclntab *t))
{
	struct candidate c = { t, take };
	/* Any of the magics, and the four bytes behind it; the size of an instruction is 1 or 4. */
	struct search search = { .elf = t->elf,
				 .mask = 0xfffafffffffffff0,
				 .value = 0x08000000fffffff0,
				 .match = match_table,
				 .context = &c,
				 .left = &t->left };
	int err = -ENODATA;

	if (!elf_file_is64(t->elf))
		err = -ENOTSUP;
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const struct elf_section *s = elf_file_section(t->elf, sections[i]);

		if (!s)
			continue;
		if (err == -ENOTSUP || s->type == SHT_NOBITS || (s->flags & SHF_COMPRESSED))
			return -ENOTSUP;
		t->offset = s->offset;
		t->address = s->addr;
		t->size = s->size;
		return take(t);
	}
	if (err == -ENOTSUP || !is_go(t->elf))
		return -ENODATA;
	err = search_all(&search);
	return err && search.err ? search.err : err;
}

/* --- moduledata --- */

struct module {
	const struct gopclntab *t;
	uint64_t *words;
};

/*
 * The runtime's slices of the parts follow the pointer to the table (runtime/symtab.go,
 * moduledata).
 */
static int is_module(const struct gopclntab *t, const uint64_t *words)
{
	return words[0] == t->address && words[1] == t->address + t->names.at &&
	       words[7] == t->address + t->files.at && words[10] == t->address + t->values.at &&
	       words[13] == t->address + t->functions.at;
}

static int match_module(struct search *search, const struct elf_segment *in, uint64_t at)
{
	struct module *m = search->context;

	if (gopclntab_read_memory(search->elf, in->vaddr + at, m->words,
				  GO_MODULE_WORDS * sizeof(*m->words)))
		return -EBADMSG;
	return is_module(m->t, m->words) ? 0 : -EBADMSG;
}

/* Where DT_RELA is: its address and size. */
static int find_relocations(const struct elf_file *elf, uint64_t *address, uint64_t *size)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(elf, &s);

	*address = *size = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t entries = s[i].filesz / sizeof(Elf64_Dyn);

		if (s[i].type != PT_DYNAMIC)
			continue;
		for (uint64_t j = 0; j < entries && j < MAX_DYNAMIC; j++) {
			Elf64_Dyn d;

			if (elf_file_read(elf, s[i].offset + j * sizeof(d), &d, sizeof(d)) ||
			    d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_RELA)
				*address = d.d_un.d_ptr;
			else if (d.d_tag == DT_RELASZ)
				*size = d.d_un.d_val;
		}
		break;
	}
	return *address && *size >= sizeof(Elf64_Rela) ? 0 : -ENODATA;
}

/*
 * Each relocation that adds the program's base to its addend, to @each until it
 * gives 0, which is then the result.
 */
static int walk_relocations(struct gopclntab *t, int (*each)(void *context, const Elf64_Rela *r),
			    void *context)
{
	const struct elf_file *elf = t->elf;
	uint32_t relative = elf_file_machine(elf) == EM_AARCH64 ? R_AARCH64_RELATIVE
								: R_X86_64_RELATIVE;
	uint64_t address, size, n;
	Elf64_Rela *batch;
	int err = find_relocations(elf, &address, &size);

	if (err)
		return err;
	n = size / sizeof(*batch);
	if (n > MAX_RELOCATIONS)
		return -EBADMSG;
	batch = xcalloc(R_BATCH, sizeof(*batch));
	err = -ENODATA;
	for (uint64_t i = 0; i < n && err == -ENODATA; i += R_BATCH) {
		size_t part = n - i < R_BATCH ? (size_t)(n - i) : R_BATCH,
		       bytes = part * sizeof(*batch);

		if (t->left < bytes ||
		    gopclntab_read_memory(elf, address + i * sizeof(*batch), batch, bytes))
			err = -EBADMSG;
		else
			t->left -= bytes;
		for (size_t j = 0; j < part && err == -ENODATA; j++)
			if (ELF64_R_TYPE(batch[j].r_info) == relative && !each(context, &batch[j]))
				err = 0;
	}
	free(batch);
	return err;
}

struct relocated {
	uint64_t table, skip;	/* what is pointed at; how many such pointers to pass over */
	uint64_t module;	/* where moduledata may be */
	uint64_t *words;
};

static int each_pointer(void *context, const Elf64_Rela *r)
{
	struct relocated *m = context;

	if ((uint64_t)r->r_addend != m->table || m->skip--)
		return -ENODATA;
	m->module = r->r_offset;
	return 0;
}

static int each_word(void *context, const Elf64_Rela *r)
{
	struct relocated *m = context;
	uint64_t from = r->r_offset - m->module;

	if (from < GO_MODULE_WORDS * sizeof(*m->words) && !(from & 7))
		m->words[from / 8] = (uint64_t)r->r_addend;
	return -ENODATA;
}

/* In what a C linker has made position independent the pointers are nothing but relocations. */
static int module_of_relocations(struct gopclntab *t, uint64_t *words)
{
	for (uint64_t i = 0; i < 4; i++) {
		struct relocated m = { .table = t->address, .skip = i, .words = words };
		int err = walk_relocations(t, each_pointer, &m);

		if (err)
			return err;
		if (gopclntab_read_memory(t->elf, m.module, words,
					  GO_MODULE_WORDS * sizeof(*words)))
			continue;
		walk_relocations(t, each_word, &m);
		if (is_module(t, words))
			return 0;
	}
	return -ENODATA;
}

int gopclntab_module(struct gopclntab *t, uint64_t words[GO_MODULE_WORDS])
{
	struct module m = { t, words };
	struct search search = { .elf = t->elf,
				 .mask = UINT64_MAX,
				 .value = t->address,
				 .skip = PF_X,
				 .match = match_module,
				 .context = &m,
				 .left = &t->left };

	return search_all(&search) ? module_of_relocations(t, words) : 0;
}
