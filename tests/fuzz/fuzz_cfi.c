/* SPDX-License-Identifier: MIT */
/*
 * A section of CFI of any bytes: walk, rows, search, and applying what they
 * say to a memory that answers anything. The first byte chooses the machine (bit 0)
 * and .debug_frame (bit 1); the next two are the length of a search table,
 * which follows, and then comes the section.
 */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/cfi.h"

#define VADDR	0x200000
#define HDR	0x100000
#define ROWS	64	/* that are looked at closely, of each FDE */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
	const struct cfi_section *s;
	const struct cfi_fde *fde;
	uint64_t last;
	unsigned rows;
};

static int read_memory(void *ctx, uint64_t address, int size, uint64_t *value)
{
	(void)ctx;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		abort();
	if (address % 7 == 3)
		return -EFAULT;
	*value = address * 0x9e3779b97f4a7c15ull >> (64 - 8 * size);
	return 0;
}

static void check_row(const struct walk *w, const struct cfi_row *row)
{
	const uint8_t *end = w->s->data + w->s->size;
	struct cfi_registers r = { .known = 0x1ffffffff };

	if (row->start < w->fde->start || row->start >= w->fde->end || row->ra >= CFI_REGS ||
	    row->cfa.reg >= CFI_REGS)
		abort();
	for (unsigned i = 0; i < CFI_REGS; i++) {
		const struct cfi_value *v = &row->reg[i];

		if (!(row->touched >> i & 1) && v->kind != CFI_SAME)
			abort();
		if (v->kind == CFI_REGISTER && v->reg >= CFI_REGS)
			abort();
		if ((v->kind == CFI_EXPRESSION || v->kind == CFI_VAL_EXPRESSION) &&
		    (v->expression < w->s->data || v->expression > end ||
		     v->size > (size_t)(end - v->expression)))
			abort();
		r.r[i] = 0x7fff0000 + 8 * i;
	}
	cfi_apply(w->s, row, &r, read_memory, NULL);
}

static void take_row(void *ctx, const struct cfi_row *row)
{
	struct walk *w = ctx;

	if (w->rows && row->start <= w->last)
		abort();
	w->last = row->start;
	if (w->rows++ < ROWS)
		check_row(w, row);
}

static void take_fde(const struct cfi_section *s, const struct cfi_fde *fde)
{
	struct walk w = { .s = s, .fde = fde };
	uint64_t bad = 0, middle = fde->start + (fde->end - fde->start) / 2;
	struct cfi_row row;
	int err;

	if (fde->start >= fde->end || fde->offset >= s->size)
		abort();
	err = cfi_rows(s, fde, take_row, &w, &bad);
	if (err && (err != -EBADMSG || (w.rows && bad <= w.last)))
		abort();
	/* What held at an address is found there again. */
	if (!err && (cfi_row_at(s, fde, w.last, &row) || row.start != w.last))
		abort();
	if (!cfi_row_at(s, fde, middle, &row) && row.start > middle)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_section s = { .vaddr = VADDR, .text = 0x1000, .got = 0x300000 };
	struct cfi_fde *fdes = NULL, found;
	size_t hdr, n = 0;

	if (size < 3)
		return 0;
	s.machine = data[0] & 1 ? EM_AARCH64 : EM_X86_64;
	s.debug_frame = data[0] >> 1 & 1;
	hdr = data[1] | (size_t)data[2] << 8;
	if (hdr > size - 3)
		hdr = size - 3;
	/* Both end where their blocks end, so that one byte too far is seen. */
	s.size = size - 3 - hdr;
	s.data = memcpy(malloc(s.size + !s.size), data + 3 + hdr, s.size);
	data = memcpy(malloc(hdr + !hdr), data + 3, hdr);
	if (cfi_fdes(&s, &fdes, &n) < 0)
		abort();
	for (size_t i = 0; i < n && i < 256; i++) {
		take_fde(&s, &fdes[i]);
		if (!cfi_find(&s, data, hdr, HDR, fdes[i].start, &found))
			take_fde(&s, &found);
	}
	for (uint64_t pc = 0; pc < 16; pc++)
		if (!cfi_find(&s, data, hdr, HDR, HDR + (pc - 8) * 0x1000, &found))
			take_fde(&s, &found);
	free(fdes);
	free((void *)(uintptr_t)data);
	free((void *)(uintptr_t)s.data);
	return 0;
}
