/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_file.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "dwarf/dwarf_abbrevs.h"
#include "elf/inflate.h"

#define UNPACKED_MAX	(512u << 20)	/* bytes of one section */
#define UNPACKED_LEAST	(64u << 20)	/* bytes of all sections, */
/* or times what is stored: several may be of the same packed bytes */
#define UNPACKED_TIMES	64
#define WORK_LEAST	(1ull << 30)
#define WORK_TIMES	64

static const char *const names[DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",
	[DWARF_ABBREV] = "abbrev",
	[DWARF_STR] = "str",
	[DWARF_LINE_STR] = "line_str",
	[DWARF_LINE] = "line",
	[DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists",
	[DWARF_ADDR] = "addr",
	[DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_CU_INDEX] = "cu_index",
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* @left: bytes that may still be unpacked. */
static void open_section(struct dwarf_file *f, enum dwarf_section_id id, int dwo, uint64_t *left)
{
	struct dwarf_section *d = &f->section[id];
	const struct elf_section *s;
	const char *end = dwo && id != DWARF_CU_INDEX ? ".dwo" : "";
	char name[32];
	size_t size;

	snprintf(name, sizeof(name), ".debug_%s%s", names[id], end);
	s = elf_file_section(f->elf, name);
	if (!s) {
		snprintf(name, sizeof(name), ".zdebug_%s%s", names[id], end);
		s = elf_file_section(f->elf, name);
	}
	if (!s || s->type == SHT_NOBITS)
		return;
	*d = (struct dwarf_section){ .offset = s->offset, .size = s->size };
	if (!(s->flags & SHF_COMPRESSED) && strncmp(s->name, ".z", 2))
		return;
	d->memory = inflate_section(f->elf, s, least(*left, UNPACKED_MAX), &size);
	d->size = d->memory ? size : 0;
	*left -= d->size;
}

int dwarf_file_open(struct dwarf_file *f, const struct elf_file *elf, int dwo)
{
	uint64_t left = UNPACKED_LEAST + UNPACKED_TIMES * elf_file_stored(elf), size = 0;

	*f = (struct dwarf_file){ .elf = elf };
	for (int i = 0; i < DWARF_SECTIONS; i++) {
		open_section(f, (enum dwarf_section_id)i, dwo, &left);
		size += dwarf_stored(f, (enum dwarf_section_id)i);
	}
	f->work = WORK_LEAST + WORK_TIMES * size;
	if (f->section[DWARF_INFO].size && f->section[DWARF_ABBREV].size)
		return 0;
	dwarf_file_close(f);
	return -ENODATA;
}

void dwarf_file_forget(struct dwarf_file *f)
{
	for (size_t i = 0; i < f->abbrevs.n; i++)
		dwarf_abbrevs_free(f->abbrevs.v[i]);
	vec_free(&f->abbrevs);
	hashmap_free(&f->abbrev_ids);
	f->abbrev_bytes = 0;
}

void dwarf_file_close(struct dwarf_file *f)
{
	for (int i = 0; i < DWARF_SECTIONS; i++)
		if (!f->section[i].borrowed)
			free(f->section[i].memory);
	dwarf_abbrevs_free(f->root);
	dwarf_file_forget(f);
	*f = (struct dwarf_file){ 0 };
}

uint64_t dwarf_file_bytes(const struct dwarf_file *f)
{
	uint64_t bytes = f->abbrev_bytes;

	for (int i = 0; i < DWARF_SECTIONS; i++)
		bytes += f->section[i].memory && !f->section[i].borrowed ? f->section[i].size : 0;
	return bytes;
}

uint64_t dwarf_stored(const struct dwarf_file *f, enum dwarf_section_id id)
{
	const struct dwarf_section *s = &f->section[id];

	return s->memory ? s->size : least(s->size, elf_file_stored(f->elf));
}

int dwarf_spend(struct dwarf_file *f, uint64_t bytes)
{
	if (f->whole)
		f = f->whole;
	if (bytes > f->work)
		return -EFBIG;
	f->work -= bytes;
	return 0;
}

void dwarf_keep(struct dwarf_file *f, enum dwarf_section_id id, uint64_t most)
{
	struct dwarf_section *s = &f->section[id];

	if (!s->memory && s->size && s->size <= most && s->size <= dwarf_stored(f, id))
		s->memory = dwarf_load(f, id, 0, s->size);
}

int dwarf_read(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, void *dst,
	       size_t size)
{
	const struct dwarf_section *s = &f->section[id];

	if (offset > s->size || size > s->size - offset)
		return -EBADMSG;
	if (!s->memory)
		return elf_file_read(f->elf, s->offset + offset, dst, size);
	memcpy(dst, s->memory + offset, size);
	return 0;
}

long dwarf_peek(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, void *dst,
		size_t size)
{
	uint64_t left = f->section[id].size - offset;
	int err;

	if (offset > f->section[id].size)
		return -EBADMSG;
	if (size > left)
		size = (size_t)left;
	err = dwarf_read(f, id, offset, dst, size);
	return err ? err : (long)size;
}

uint8_t *dwarf_load(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset,
		    uint64_t size)
{
	uint8_t *p;
	int err;

	if (offset > f->section[id].size || size > f->section[id].size - offset ||
	    size > dwarf_stored(f, id)) {
		errno = EBADMSG;
		return NULL;
	}
	p = xmalloc(size + 1);
	err = dwarf_read(f, id, offset, p, size);
	if (!err)
		return p;
	free(p);
	errno = -err;
	return NULL;
}

int dwarf_string(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, char *dst,
		 size_t size)
{
	const struct dwarf_section *s = &f->section[id];
	size_t n = size - 1;

	if (offset >= s->size)
		return -EBADMSG;
	if (!s->memory)
		return elf_file_string(f->elf, s->offset + offset, s->offset + s->size, dst, size);
	if (n > s->size - offset)
		n = (size_t)(s->size - offset);
	n = strnlen((const char *)s->memory + offset, n);
	memcpy(dst, s->memory + offset, n);
	dst[n] = '\0';
	return 0;
}

int dwarf_number(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset,
		 unsigned size, uint64_t *out)
{
	*out = 0;	/* little endian: the rest of it stays zero */
	return dwarf_read(f, id, offset, out, size);
}
