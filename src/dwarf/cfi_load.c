/* SPDX-License-Identifier: MIT */
#include "dwarf/cfi_load.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "elf/inflate.h"

#define SECTION_MAX	(128u << 20)	/* bytes of CFI; 8 MB seen, of a library of 200 MB */

/* What is damaged, or too large, is as good as not there. */
static int absent(int err)
{
	return err == -EBADMSG || err == -EFBIG || err == -ENOTSUP ? -ENOENT : err;
}

static uint64_t address_of(const struct elf_file *f, const char *name)
{
	const struct elf_section *s = elf_file_section(f, name);

	return s ? s->addr : 0;
}

int cfi_load_section(const struct elf_file *f, const char *name, struct cfi_section *out)
{
	const struct elf_section *s = inflate_find(f, name);
	uint8_t *data;
	size_t size;

	if (!s || s->type == SHT_NOBITS)
		return -ENOENT;
	data = inflate_section(f, s, SECTION_MAX, &size);
	if (!data)
		return absent(-errno);
	*out = (struct cfi_section){
		.data = data,
		.size = size,
		.vaddr = s->addr,
		.text = address_of(f, ".text"),
		.got = address_of(f, ".got"),
		.machine = elf_file_machine(f),
		.debug_frame = !strcmp(name, ".debug_frame"),
	};
	return 0;
}

/* LSB Core 5, 10.6.2, in the one encoding that linkers use: pcrel, sdata4. */
struct header {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
};
#define PCREL_SDATA4 0x1b

int cfi_load_eh_frame(const struct elf_file *f, struct cfi_section *out)
{
	const struct elf_segment *s, *hdr = NULL, *holds = NULL;
	size_t n = elf_file_segments(f, &s), size;
	int err = cfi_load_section(f, ".eh_frame", out);
	struct header head;
	uint64_t vaddr;
	uint8_t *data;

	if (err != -ENOENT)
		return err;
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_GNU_EH_FRAME)
			hdr = &s[i];
	err = hdr ? elf_file_read(f, hdr->offset, &head, sizeof(head)) : -ENOENT;
	if (err)
		return absent(err);
	if (head.version != 1 || head.frame_encoding != PCREL_SDATA4)
		return -ENOENT;
	vaddr = hdr->vaddr + offsetof(struct header, frame) + (uint64_t)(int64_t)head.frame;
	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && vaddr >= s[i].vaddr && vaddr - s[i].vaddr < s[i].filesz)
			holds = &s[i];
	if (!holds)
		return -ENOENT;
	/* Its size is not told: its terminator ends it, or the segment. */
	size = holds->filesz - (vaddr - holds->vaddr);
	if (size > SECTION_MAX)
		return -ENOENT;
	data = xmalloc(size);
	err = elf_file_read(f, holds->offset + (vaddr - holds->vaddr), data, size);
	if (err) {
		free(data);
		return absent(err);
	}
	*out = (struct cfi_section){
		.data = data, .size = size, .vaddr = vaddr, .machine = elf_file_machine(f),
	};
	return 0;
}
