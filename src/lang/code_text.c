/* SPDX-License-Identifier: MIT */
#include "lang/code_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "base/xalloc.h"

#define TEXT_LIMIT	(32u << 20)
#define HEADER_LIMIT	(16u << 20)

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Where functions start: the linker's table for unwinders (LSB, .eh_frame_hdr). */
static int read_starts(const struct elf_file *f, struct code_text *t)
{
	const struct elf_section *s = elf_file_section(f, ".eh_frame_hdr");
	size_t size, n;
	uint8_t *p = s ? elf_file_section_data(f, s, HEADER_LIMIT, &size) : NULL;

	/* version 1; 4 bytes of a number of rows; rows relative to the section, of 4 bytes each */
	if (!p || size < 12 || p[0] != 1 || p[2] != 0x03 || p[3] != 0x3b) {
		free(p);
		return -EBADMSG;
	}
	n = load32(p + 8);
	n = n < (size - 12) / 8 ? n : (size - 12) / 8;
	t->starts = xmalloc((n + 1) * sizeof(*t->starts));
	for (size_t i = 0; i < n; i++) {
		uint64_t at = s->addr + (uint64_t)(int64_t)(int32_t)load32(p + 12 + 8 * i);

		if (at - t->address < t->n)
			t->starts[t->nstarts++] = at;
	}
	free(p);
	qsort(t->starts, t->nstarts, sizeof(*t->starts), by_number);
	t->starts[t->nstarts] = t->address + t->n;
	return t->nstarts ? 0 : -EBADMSG;
}

int code_text_read(const struct elf_file *f, struct code_text *out)
{
	const struct elf_section *s = elf_file_section(f, ".text");
	int err;

	*out = (struct code_text){ 0 };
	if (!s)
		return -EBADMSG;
	out->bytes = elf_file_section_data(f, s, TEXT_LIMIT, &out->n);
	if (!out->bytes)
		return -EBADMSG;
	out->address = s->addr;
	out->offset = s->offset;
	err = read_starts(f, out);
	if (err)
		code_text_free(out);
	return err;
}

void code_text_free(struct code_text *t)
{
	free(t->bytes);
	free(t->starts);
	*t = (struct code_text){ 0 };
}

const uint8_t *code_text_at(const struct code_text *t, uint64_t address, size_t n)
{
	uint64_t at = address - t->address;

	return at < t->n && n <= t->n - at ? t->bytes + at : NULL;
}

uint64_t code_text_relative(const struct code_text *t, const uint8_t *p)
{
	return t->address + (uint64_t)(p + 4 - t->bytes) +
	       (uint64_t)(int64_t)(int32_t)load32(p);
}

size_t code_text_function(const struct code_text *t, uint64_t address)
{
	size_t lo = 0, hi = t->nstarts;

	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->starts[mid] <= address)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}
