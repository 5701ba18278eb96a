/* SPDX-License-Identifier: MIT */
#include "unwind/sections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "elf/vdso.h"
#include "unwind/table/builder.h"

#define FILES		32
#define SECTION_MAX	(64u << 20)	/* bytes of one; 8 MB seen, of a library of 200 MB */
#define BYTES_MAX	(64u << 20)	/* of all but the one in use */
/* FDEs of a section without a table; large programs have half a million */
#define LISTED_MAX	(1u << 20)

/*
 * Work, in bytes of a program that runs, each of which takes 40 ns at most; so does one of a
 * section that is listed.
 */
#define OPEN_WORK	4096		/* of a file */
#define HEADER_WORK	8		/* of each of its sections */
#define LOAD_SHARE	32		/* bytes that are loaded for one of work */

enum { EH_FRAME, DEBUG_FRAME, PARTS };

struct part {
	struct cfi_section cfi;
	void *hdr;			/* .eh_frame_hdr, or NULL */
	size_t hdr_size;
	uint64_t hdr_vaddr;
	/* @fdes is there, by address: the section has no table to search */
	int listed;
	struct cfi_fde *fdes;
	size_t n;
};

struct kept {
	uint32_t id;
	uint64_t used;			/* when it was last asked for; 0: nothing is kept here */
	void *vdso;
	struct elf_file *elf;
	struct part parts[PARTS];
};

struct unwind_sections {
	uint64_t clock, work;
	struct kept kept[FILES];
};

struct unwind_sections *unwind_sections_new(void)
{
	return xcalloc(1, sizeof(struct unwind_sections));
}

static void forget(struct kept *k)
{
	for (size_t i = 0; i < PARTS; i++) {
		free((void *)k->parts[i].cfi.data);
		free(k->parts[i].hdr);
		free(k->parts[i].fdes);
	}
	elf_file_free(k->elf);
	free(k->vdso);
	memset(k, 0, sizeof(*k));
}

void unwind_sections_free(struct unwind_sections *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < FILES; i++)
		forget(&s->kept[i]);
	free(s);
}

static size_t bytes_of(const struct kept *k)
{
	size_t bytes = 0;

	for (size_t i = 0; i < PARTS; i++)
		bytes += k->parts[i].cfi.size + k->parts[i].hdr_size +
			 k->parts[i].n * sizeof(struct cfi_fde);
	return bytes;
}

static uint64_t address_of(const struct elf_file *elf, const char *name)
{
	const struct elf_section *s = elf_file_section(elf, name);

	return s ? s->addr : 0;
}

static void load(struct part *p, const struct elf_file *elf, int debug_frame)
{
	const struct elf_section *s = elf_file_section(elf,
						       debug_frame ? ".debug_frame" : ".eh_frame");
	const struct elf_section *hdr = debug_frame ? NULL : elf_file_section(elf, ".eh_frame_hdr");

	if (!s)
		return;
	p->cfi = (struct cfi_section){
		.vaddr = s->addr, .text = address_of(elf, ".text"), .got = address_of(elf, ".got"),
		.machine = elf_file_machine(elf), .debug_frame = (uint8_t)debug_frame,
	};
	p->cfi.data = elf_file_section_data(elf, s, SECTION_MAX, &p->cfi.size);
	if (!p->cfi.data)
		p->cfi.size = 0;
	if (!p->cfi.data || !hdr)
		return;
	p->hdr_vaddr = hdr->addr;
	p->hdr = elf_file_section_data(elf, hdr, SECTION_MAX, &p->hdr_size);
	if (!p->hdr)
		p->hdr_size = 0;
}

/* What it took. */
static uint64_t open_file(struct kept *k, int fd)
{
	const struct elf_section *any;
	size_t size;

	if (fd == UNWIND_FD_VDSO) {
		k->vdso = vdso_copy(&size);
		k->elf = k->vdso ? elf_file_open_memory(k->vdso, size) : NULL;
	} else {
		k->elf = elf_file_open(fd);
	}
	for (int i = 0; k->elf && i < PARTS; i++)
		load(&k->parts[i], k->elf, i == DEBUG_FRAME);
	return OPEN_WORK + bytes_of(k) / LOAD_SHARE +
	       (k->elf ? elf_file_sections(k->elf, &any) * HEADER_WORK : 0);
}

/* Kept before, or opened now in the place of the one that was asked for longest ago. */
static struct kept *get(struct unwind_sections *s, uint32_t id, int fd)
{
	struct kept *oldest = &s->kept[0];

	for (size_t i = 0; i < FILES; i++) {
		struct kept *k = &s->kept[i];

		if (k->used && k->id == id) {
			k->used = ++s->clock;
			return k;
		}
		if (k->used < oldest->used)
			oldest = k;
	}
	forget(oldest);
	oldest->id = id;
	oldest->used = ++s->clock;
	s->work += open_file(oldest, fd);
	return oldest;
}

/* Forgets those asked for longest ago until all but @current are within bounds. */
static void trim(struct unwind_sections *s, const struct kept *current)
{
	for (;;) {
		struct kept *oldest = NULL;
		size_t bytes = 0;

		for (size_t i = 0; i < FILES; i++) {
			struct kept *k = &s->kept[i];

			if (k == current || !k->used)
				continue;
			bytes += bytes_of(k);
			if (!oldest || k->used < oldest->used)
				oldest = k;
		}
		if (bytes <= BYTES_MAX)
			return;
		forget(oldest);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct cfi_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void list(struct part *p)
{
	if (cfi_fdes(&p->cfi, &p->fdes, &p->n) < 0)
		p->n = 0;
	if (p->n > LISTED_MAX) {
		free(p->fdes);
		p->n = 0;
	}
	if (p->n)
		qsort(p->fdes, p->n, sizeof(*p->fdes), by_start);
	else
		p->fdes = NULL;
}

/* The FDE of @pc where the section brings no table to search. */
static int find_listed(struct unwind_sections *s, struct part *p, uint64_t pc, struct cfi_fde *out)
{
	size_t low = 0, high;

	if (!p->listed) {
		p->listed = 1;
		list(p);
		s->work += p->cfi.size;
	}
	for (high = p->n; low < high; ) {
		size_t middle = low + (high - low) / 2;

		if (p->fdes[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || pc >= p->fdes[low - 1].end)
		return -ENOENT;
	*out = p->fdes[low - 1];
	return 0;
}

static int row_of_part(struct unwind_sections *s, struct part *p, uint64_t pc, struct cfi_row *row)
{
	struct cfi_fde fde;
	int err = -ENOTSUP;

	if (!p->cfi.data)
		return -ENOENT;
	if (p->hdr)
		err = cfi_find(&p->cfi, p->hdr, p->hdr_size, p->hdr_vaddr, pc, &fde);
	if (err == -ENOTSUP)
		err = find_listed(s, p, pc, &fde);
	if (!err) {
		s->work += cfi_length(&p->cfi, &fde);
		err = cfi_row_at(&p->cfi, &fde, pc, row);
	}
	if (!err)
		cfi_mend(p->cfi.machine, row);
	return err;
}

int unwind_sections_row(struct unwind_sections *s, uint32_t id, int fd, uint64_t offset,
			struct cfi_row *row, const struct cfi_section **section)
{
	struct kept *k = get(s, id, fd);
	int err = -ENOENT;
	uint64_t pc;

	if (!k->elf || elf_file_vaddr(k->elf, offset, &pc))
		return -ENOENT;
	for (size_t i = 0; i < PARTS && err; i++) {
		err = row_of_part(s, &k->parts[i], pc, row);
		*section = &k->parts[i].cfi;
	}
	trim(s, k);
	return err;
}

void unwind_sections_forget(struct unwind_sections *s, uint32_t id)
{
	for (size_t i = 0; s && i < FILES; i++)
		if (s->kept[i].used && s->kept[i].id == id)
			forget(&s->kept[i]);
}

uint64_t unwind_sections_work(const struct unwind_sections *s)
{
	return s->work;
}
