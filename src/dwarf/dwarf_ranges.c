/* SPDX-License-Identifier: MIT */
/* What code an entry covers (DWARF 5, 2.17; DWARF 4, 2.17.3). */
#include <dwarf.h>

#include "dwarf/dwarf_unit.h"

#define LIST_PEEK	1024		/* bytes of a list read at first */
#define KEPT_MAX	(64u << 20)	/* bytes of a section that is read whole */
#define LIST_MAX	(16u << 20)
#define RANGES_MAX	(1u << 20)	/* of one entry */

struct list {
	const struct dwarf_unit *u;
	struct cursor c;
	uint64_t base;
	dwarf_ranges *out;
	size_t before;			/* in @out already */
};

/* Code that the linker threw away is at 0, or at -1 or -2. */
static void add(struct list *l, uint64_t start, uint64_t end)
{
	if (start && start < end && start < UINT64_MAX - 1 && l->out->n - l->before < RANGES_MAX)
		vec_push(l->out, (struct dwarf_range){ start, end });
}

static uint64_t indexed(struct list *l, uint64_t index)
{
	uint64_t address = 0;

	if (dwarf_address(l->u, (struct dwarf_value){ DWARF_ADDRESS_INDEX, index }, &address))
		cursor_fail(&l->c);
	return address;
}

/* One entry of .debug_rnglists (7.25). 0, or 1 at the end of the list. */
static int take_entry(struct list *l)
{
	unsigned size = l->u->encoding.address_size;
	struct cursor *c = &l->c;
	uint64_t start, end;

	switch (cursor_fixed(c, 1)) {
	case DW_RLE_end_of_list:
		return 1;
	case DW_RLE_base_addressx:
		l->base = indexed(l, cursor_uleb(c));
		return 0;
	case DW_RLE_base_address:
		l->base = cursor_fixed(c, size);
		return 0;
	case DW_RLE_startx_endx:
		start = indexed(l, cursor_uleb(c));
		end = indexed(l, cursor_uleb(c));
		break;
	case DW_RLE_startx_length:
		start = indexed(l, cursor_uleb(c));
		end = start + cursor_uleb(c);
		break;
	case DW_RLE_offset_pair:
		start = l->base + cursor_uleb(c);
		end = l->base + cursor_uleb(c);
		break;
	case DW_RLE_start_end:
		start = cursor_fixed(c, size);
		end = cursor_fixed(c, size);
		break;
	case DW_RLE_start_length:
		start = cursor_fixed(c, size);
		end = start + cursor_uleb(c);
		break;
	default:
		cursor_fail(c);
		return 1;
	}
	if (!c->bad)
		add(l, start, end);
	return 0;
}

/* One pair of .debug_ranges. */
static int take_pair(struct list *l)
{
	unsigned size = l->u->encoding.address_size;
	uint64_t top = size == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t start = cursor_fixed(&l->c, size), end = cursor_fixed(&l->c, size);

	if (l->c.bad || (!start && !end))
		return 1;
	if (start == top)
		l->base = end;
	else
		add(l, l->base + start, l->base + end);
	return 0;
}

/* Where the list begins. 0, or negative. */
static int find_list(const struct dwarf_unit *u, struct dwarf_value v, enum dwarf_section_id *id,
		     uint64_t *at)
{
	unsigned step = u->encoding.offset_size;
	int err = 0;

	*id = u->encoding.version >= 5 ? DWARF_RNGLISTS : DWARF_RANGES;
	*at = v.u;
	if (v.kind == DWARF_RANGES_INDEX) {
		err = v.u > UINT32_MAX ? -1
				       : dwarf_number(u->file, DWARF_RNGLISTS,
						      u->rnglists + v.u * step, step, at);
		*at += u->rnglists;
	} else if (*id == DWARF_RANGES) {
		*at += u->ranges;
	}
	return err;
}

static void take_list(const struct dwarf_unit *u, struct dwarf_value v, dwarf_ranges *out)
{
	struct dwarf_file *f;
	enum dwarf_section_id id;
	uint64_t at;

	if (find_list(u, v, &id, &at))
		return;
	/* GNU's split DWARF 4 has its lists in the main file. */
	f = id == DWARF_RANGES ? u->address_file : u->file;
	if (at >= f->section[id].size)
		return;
	dwarf_keep(f, id, KEPT_MAX);
	dwarf_keep(u->address_file, DWARF_ADDR, KEPT_MAX);
	for (size_t size = LIST_PEEK, before = out->n; size <= LIST_MAX; size *= 16) {
		const uint8_t *kept = f->section[id].memory;
		uint8_t *bytes = kept ? NULL : xmalloc(size);
		long n = kept ? (long)(f->section[id].size - at)
			      : dwarf_peek(f, id, at, bytes, size);
		struct list l = {
			u, { kept ? kept + at : bytes, NULL, 0 }, u->low_pc, out, before
		};

		l.c.end = l.c.p + (n > 0 ? n : 0);
		while (!(id == DWARF_RNGLISTS ? take_entry(&l) : take_pair(&l)) && !l.c.bad)
			;
		/* What was read or parsed of it. */
		if (n > 0 && dwarf_spend(f, kept ? (uint64_t)(l.c.p - (kept + at)) : (uint64_t)n))
			out->n = before;
		free(bytes);
		if (kept || !l.c.bad || n < (long)size)
			return;
		out->n = before;
	}
}

void dwarf_entry_ranges(const struct dwarf_unit *u, struct dwarf_value low, struct dwarf_value high,
			struct dwarf_value list, dwarf_ranges *out)
{
	struct list l = { .u = u, .out = out, .before = out->n };
	uint64_t start, end;

	if (list.kind == DWARF_OFFSET || list.kind == DWARF_CONSTANT ||
	    list.kind == DWARF_RANGES_INDEX) {
		take_list(u, list, out);
		return;
	}
	if (dwarf_address(u, low, &start))
		return;
	if (high.kind == DWARF_CONSTANT || high.kind == DWARF_SIGNED)
		end = start + high.u;
	else if (dwarf_address(u, high, &end))
		return;
	add(&l, start, end);
}
