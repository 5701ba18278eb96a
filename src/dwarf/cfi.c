/* SPDX-License-Identifier: MIT */
/* The sections: entries, CIEs, FDEs, encoded pointers, and the search table. */
#include "dwarf/cfi.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "dwarf/cfi_internal.h"

#define MAX_FDES	(4u << 20)
#define MAX_AUGMENTATION 16	/* "zPLRS" and the like: each FDE may lead us to read it again */
/* bytes of initial instructions: they run once for each FDE; 39 seen */
#define MAX_INITIAL	128
/* bytes of an FDE's: 60 KiB seen; it may run once for each frame of a stack */
#define MAX_PROGRAM	(256u << 10)
#define NO_CIE		SIZE_MAX

/* LSB Core 5, 10.5.1: how a pointer is encoded. */
enum {
	PE_ABSPTR = 0x00, PE_ULEB128 = 0x01, PE_UDATA2 = 0x02, PE_UDATA4 = 0x03, PE_UDATA8 = 0x04,
	PE_SIGNED = 0x08, PE_SLEB128 = 0x09, PE_SDATA2 = 0x0a, PE_SDATA4 = 0x0b, PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10, PE_TEXTREL = 0x20, PE_DATAREL = 0x30, PE_ALIGNED = 0x50,
	PE_APPLICATION = 0x70, PE_INDIRECT = 0x80, PE_OMIT = 0xff,
};

/* One entry, of either kind. */
struct entry {
	struct cursor body;	/* behind the CIE's id or the pointer to it */
	size_t next;		/* offset of the next entry */
	size_t cie;		/* offset of the FDE's CIE; NO_CIE: it is one itself */
	int zero;		/* length 0: a terminator */
};

static struct cursor cursor_at(const struct cfi_section *s, size_t offset)
{
	return (struct cursor){ s->data + offset, s->data + s->size, 0 };
}

/*
 * 0, or -EBADMSG where not even the length makes sense. The forms differ: in
 * .debug_frame a CIE has the id -1 and an FDE its CIE's offset in the section,
 * as wide as the length says (DWARF 5, 6.4.1, 7.4); in .eh_frame a CIE has the id 0
 * and an FDE the distance back to its CIE, always of 4 bytes (LSB Core 5, 10.6.1).
 */
static int read_entry(const struct cfi_section *s, size_t offset, struct entry *e)
{
	struct cursor c = cursor_at(s, offset);
	uint64_t length = cursor_fixed(&c, 4), id;
	unsigned width = 4;
	size_t field;

	if (length == 0xffffffff) {
		length = cursor_fixed(&c, 8);
		width = s->debug_frame ? 8 : 4;
	}
	if (c.bad || !cursor_has(&c, length))
		return -EBADMSG;
	c.end = c.p + length;
	field = (size_t)(c.p - s->data);
	e->next = field + length;
	e->zero = !length;
	id = cursor_fixed(&c, width);
	if (s->debug_frame)
		e->cie = id == (width == 8 ? UINT64_MAX : UINT32_MAX) ? NO_CIE : id;
	else
		e->cie = !id ? NO_CIE : id <= field ? field - id : s->size;
	e->body = c;
	return 0;
}

static uint64_t read_format(struct cursor *c, uint8_t format)
{
	switch (format) {
	case PE_ABSPTR:
	case PE_SIGNED:
	case PE_UDATA8:
	case PE_SDATA8:
		return cursor_fixed(c, 8);
	case PE_ULEB128:
		return cursor_uleb(c);
	case PE_SLEB128:
		return (uint64_t)cursor_sleb(c);
	case PE_UDATA2:
		return cursor_fixed(c, 2);
	case PE_SDATA2:
		return (uint64_t)(int16_t)cursor_fixed(c, 2);
	case PE_UDATA4:
		return cursor_fixed(c, 4);
	case PE_SDATA4:
		return (uint64_t)(int32_t)cursor_fixed(c, 4);
	default:
		return cursor_fail(c);
	}
}

uint64_t cfi_pointer(const struct cfi_section *s, struct cursor *c, uint8_t encoding)
{
	uint64_t at = s->vaddr + (uint64_t)(c->p - s->data), base = 0;

	/* Indirect: the address is in the target's memory, which a file does not hold. */
	if (encoding & PE_INDIRECT)
		return cursor_fail(c);
	switch (encoding & PE_APPLICATION) {
	case 0:
		return read_format(c, encoding & CFI_FORMAT);
	case PE_PCREL:
		base = at;
		break;
	case PE_TEXTREL:
		base = s->text;
		break;
	case PE_DATAREL:
		base = s->got;
		break;
	case PE_ALIGNED:	/* a plain address at the next multiple of its size */
		cursor_skip(c, -at & 7);
		return cursor_fixed(c, 8);
	}
	/*
	 * No base: not known to our caller, or DW_EH_PE_funcrel, which says nothing
	 * of where the function itself begins.
	 */
	return base ? base + read_format(c, encoding & CFI_FORMAT) : cursor_fail(c);
}

/* The characters behind 'z', each with its piece of the data at @data (LSB Core 5, 10.6.1.1.1). */
static int read_augmentation(const struct cfi_section *s, const char *letters, struct cursor *data,
			     struct cfi_cie *cie)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			cie->encoding = (uint8_t)cursor_fixed(data, 1);
			break;
		/* how FDEs point to their language's data; their length lets us pass over it */
		case 'L':
			cursor_fixed(data, 1);
			break;
		/* the personality routine: its value does not matter, so neither does indirect */
		case 'P':
			encoding = (uint8_t)cursor_fixed(data, 1);
			if (encoding != PE_OMIT && (encoding & PE_APPLICATION) == PE_ALIGNED)
				cfi_pointer(s, data, PE_ALIGNED);
			else if (encoding != PE_OMIT)
				read_format(data, encoding & CFI_FORMAT);
			break;
		case 'S':
			cie->signal = 1;
			break;
		/* aarch64: return addresses are signed with key B; the bits are the same ones */
		case 'B':
		case 'G':	/* aarch64: frames may hold tagged memory (MTE) */
			break;
		default:
			return -EBADMSG;
		}
	}
	return data->bad ? -EBADMSG : 0;
}

static int read_cie(const struct cfi_section *s, size_t offset, struct cfi_cie *cie)
{
	const char *augmentation;
	struct cursor data;
	struct entry e;
	uint64_t version, ra, size;

	if (offset >= s->size || read_entry(s, offset, &e) || e.cie != NO_CIE)
		return -EBADMSG;
	version = cursor_fixed(&e.body, 1);
	augmentation = (const char *)e.body.p;
	size = strnlen(augmentation, (size_t)(e.body.end - e.body.p));
	cursor_skip(&e.body, size + 1);
	if (e.body.bad || size > MAX_AUGMENTATION || (version != 1 && version != 3 && version != 4))
		return -EBADMSG;
	if (version == 4) {
		if (cursor_fixed(&e.body, 1) != 8)		/* bytes of an address */
			return -EBADMSG;
		cie->segment_size = (uint8_t)cursor_fixed(&e.body, 1);
	}
	if (!strcmp(augmentation, "eh")) {	/* GCC 2: a pointer to exception data follows */
		cursor_skip(&e.body, 8);
		augmentation = "";
	}
	cie->code_align = cursor_uleb(&e.body);
	cie->data_align = cursor_sleb(&e.body);
	ra = version == 1 ? cursor_fixed(&e.body, 1) : cursor_uleb(&e.body);
	/* All who read rows of x86-64 take 16 for granted (psABI, figure 3.36). */
	if (ra >= CFI_REGS || (s->machine == EM_X86_64 && ra != 16))
		return -EBADMSG;
	cie->ra = (uint8_t)ra;
	if (*augmentation == 'z') {
		cie->augmented = 1;
		size = cursor_uleb(&e.body);
		data = e.body;
		cursor_skip(&e.body, size);
		data.end = e.body.p;
		if (read_augmentation(s, augmentation + 1, &data, cie))
			return -EBADMSG;
	} else if (*augmentation) {
		return -EBADMSG;
	}
	cie->program = e.body.p;
	cie->end = e.body.end;
	return e.body.bad || cie->end - cie->program > MAX_INITIAL ? -EBADMSG : 0;
}

static const struct cfi_cie *find_cie(const struct cfi_section *s, size_t offset,
				      struct cfi_cies *cies)
{
	unsigned i = (unsigned)(offset / 8) % CFI_CIES;
	struct cfi_cie *cie = &cies->cie[i];

	if (!cies->used[i] || cie->offset != offset) {
		*cie = (struct cfi_cie){ .offset = offset };
		cie->err = read_cie(s, offset, cie);
		cies->used[i] = 1;
	}
	return cie->err ? NULL : cie;
}

static int parse_fde(const struct cfi_section *s, const struct entry *e, struct cfi_cies *cies,
		     struct cfi_parsed *out)
{
	const struct cfi_cie *cie = e->cie != NO_CIE ? find_cie(s, e->cie, cies) : NULL;
	struct cursor c = e->body;

	if (!cie)
		return -EBADMSG;
	cursor_skip(&c, cie->segment_size);
	out->cie = cie;
	out->start = cfi_pointer(s, &c, cie->encoding);
	out->end = out->start + read_format(&c, cie->encoding & CFI_FORMAT);
	if (cie->augmented)
		cursor_skip(&c, cursor_uleb(&c));
	out->program = c.p;
	out->program_end = c.end;
	return c.bad || out->end < out->start || c.end - c.p > MAX_PROGRAM ? -EBADMSG : 0;
}

size_t cfi_length(const struct cfi_section *s, const struct cfi_fde *fde)
{
	struct entry e;

	return read_entry(s, fde->offset, &e) ? 0 : e.next - fde->offset;
}

int cfi_parse(const struct cfi_section *s, size_t offset, struct cfi_cies *cies,
	      struct cfi_parsed *out)
{
	struct entry e;

	if (offset >= s->size || read_entry(s, offset, &e))
		return -EBADMSG;
	return parse_fde(s, &e, cies, out);
}

long cfi_fdes(const struct cfi_section *s, struct cfi_fde **out, size_t *n)
{
	VEC(struct cfi_fde) fdes = { 0 };
	struct cfi_cies cies = { 0 };
	long passed = 0;
	struct entry e;

	for (size_t offset = 0; offset < s->size; offset = e.next) {
		struct cfi_parsed fde;

		if (read_entry(s, offset, &e)) {
			passed++;
			break;
		}
		if (e.zero && !s->debug_frame)
			break;
		if (e.zero || (e.cie == NO_CIE && !e.body.bad))
			continue;
		if (e.body.bad || parse_fde(s, &e, &cies, &fde)) {
			passed++;
		} else if (fdes.n == MAX_FDES) {
			vec_free(&fdes);
			return -EFBIG;
		} else if (fde.start < fde.end) {
			vec_push(&fdes, (struct cfi_fde){ fde.start, fde.end, offset });
		}
	}
	*out = fdes.v;
	*n = fdes.n;
	return passed;
}

/*
 * What the search needs of .eh_frame_hdr: pairs (start of the code, address of its FDE), relative
 * to @base.
 */
struct table {
	const uint8_t *pair;
	uint64_t n, base;
	unsigned width;		/* bytes of each number */
};

static int read_header(const uint8_t *hdr, size_t size, uint64_t vaddr, struct table *t)
{
	struct cursor c = { hdr, hdr + size, 0 };
	struct cfi_section self = { .data = hdr, .size = size, .vaddr = vaddr, .got = vaddr };
	uint64_t version = cursor_fixed(&c, 1);
	uint8_t start = (uint8_t)cursor_fixed(&c, 1), count = (uint8_t)cursor_fixed(&c, 1),
		table = (uint8_t)cursor_fixed(&c, 1);

	if (c.bad || version != 1)
		return -EBADMSG;
	if (start == PE_OMIT || count == PE_OMIT)
		return -ENOTSUP;
	if (table != (PE_DATAREL | PE_SDATA4) && table != (PE_DATAREL | PE_SDATA8))
		return -ENOTSUP;
	read_format(&c, start & CFI_FORMAT);
	t->n = cfi_pointer(&self, &c, count);
	t->pair = c.p;
	t->base = vaddr;
	t->width = table == (PE_DATAREL | PE_SDATA8) ? 8 : 4;
	return c.bad || t->n > (uint64_t)(c.end - c.p) / (2 * t->width) ? -EBADMSG : 0;
}

/* Number @which (0: code, 1: FDE) of pair @i. */
static uint64_t table_get(const struct table *t, uint64_t i, unsigned which)
{
	const uint8_t *p = t->pair + (2 * i + which) * t->width;
	struct cursor c = { p, p + t->width, 0 };

	return t->base + read_format(&c, t->width == 8 ? PE_SDATA8 : PE_SDATA4);
}

int cfi_find(const struct cfi_section *s, const uint8_t *hdr, size_t size, uint64_t hdr_vaddr,
	     uint64_t pc, struct cfi_fde *out)
{
	struct cfi_cies cies = { 0 };
	struct cfi_parsed fde;
	struct table t;
	uint64_t low = 0, high, offset;
	int err = read_header(hdr, size, hdr_vaddr, &t);

	if (err)
		return err;
	for (high = t.n; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (table_get(&t, middle, 0) <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return -ENOENT;
	offset = table_get(&t, low - 1, 1) - s->vaddr;
	if (cfi_parse(s, offset, &cies, &fde))
		return -EBADMSG;
	if (pc < fde.start || pc >= fde.end)
		return -ENOENT;
	*out = (struct cfi_fde){ fde.start, fde.end, offset };
	return 0;
}
