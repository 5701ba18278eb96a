/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

#include "base/search.h"

#define PEEK		512		/* bytes of a unit in which its root entry mostly is */
#define PEEK_MAX	16384
#define UNITS_MAX	(4u << 20)
/* bytes behind the length; what says less is no unit, but padding or a hole */
#define HEADER_LEAST	7

/* --- Headers and root entries. ------------------------------------------------ */

static int take_header(struct cursor *c, struct dwarf_unit *u, uint64_t section_size)
{
	uint64_t length = cursor_fixed(c, 4), header = 4;

	u->encoding.offset_size = 4;
	if (length == UINT32_MAX) {
		length = cursor_fixed(c, 8);
		header = 12;
		u->encoding.offset_size = 8;
	} else if (length >= 0xfffffff0) {
		return -EBADMSG;
	}
	if (c->bad || length < HEADER_LEAST || length > section_size - u->offset - header ||
	    section_size - u->offset < header)
		return -EBADMSG;
	u->end = u->offset + header + length;
	u->encoding.version = (uint8_t)cursor_fixed(c, 2);
	u->type = DW_UT_compile;
	if (u->encoding.version >= 5) {
		u->type = (uint8_t)cursor_fixed(c, 1);
		u->encoding.address_size = (uint8_t)cursor_fixed(c, 1);
		u->abbrev += cursor_fixed(c, u->encoding.offset_size);
		if (u->type == DW_UT_skeleton || u->type == DW_UT_split_compile)
			u->dwo_id = cursor_fixed(c, 8);
		else if (u->type == DW_UT_type || u->type == DW_UT_split_type)
			cursor_skip(c, 8 + u->encoding.offset_size);
	} else {
		u->abbrev += cursor_fixed(c, u->encoding.offset_size);
		u->encoding.address_size = (uint8_t)cursor_fixed(c, 1);
	}
	return c->bad ? -EBADMSG : 0;
}

static void take_attribute(struct dwarf_unit *u, uint16_t name, struct dwarf_value v)
{
	switch (name) {
	case DW_AT_low_pc:		u->low = v; break;
	case DW_AT_high_pc:		u->high = v; break;
	case DW_AT_ranges:		u->range_list = v; break;
	case DW_AT_stmt_list:		u->lines = v.u; break;
	case DW_AT_name:		u->name = v; break;
	case DW_AT_comp_dir:		u->directory = v; break;
	case DW_AT_str_offsets_base:	u->str_offsets = v.u; break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:	u->addr = v.u; break;
	case DW_AT_rnglists_base:	u->rnglists = v.u; break;
	case DW_AT_GNU_ranges_base:	u->ranges = v.u; break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:	u->dwo_name = v; break;
	case DW_AT_GNU_dwo_id:		u->dwo_id = v.u; break;
	default:			break;
	}
}

/*
 * The root entry's attributes. All abbreviations of all units are many more than will ever be asked
 * for.
 */
static int take_root(struct dwarf_unit *u, struct cursor *c, const uint8_t *info)
{
	uint64_t code = cursor_uleb(c);
	const struct dwarf_abbrevs *t = code ? dwarf_abbrevs_root(u->file, u->abbrev, code) : NULL;
	const struct dwarf_abbrev *a = t ? dwarf_abbrev_of(t, code) : NULL;

	for (uint32_t i = 0; a && i < a->n; i++) {
		const struct dwarf_attribute *attr = &t->attributes.v[a->first + i];
		struct dwarf_value v = dwarf_form_read(c, attr->form, attr->implicit, u->encoding,
						       info);

		if (v.kind == DWARF_STRING_HERE)
			v.u += u->offset;
		take_attribute(u, attr->name, v);
	}
	return a && !c->bad ? 0 : -EBADMSG;
}

/*
 * What a split unit has from its skeleton, and where its own lists begin (DWARF 5, 7.26 and 7.28).
 */
static void inherit(struct dwarf_unit *u, const struct dwarf_unit *skeleton)
{
	uint64_t header = u->encoding.offset_size == 8 ? 16 : 8;

	u->address_file = skeleton->file;
	u->addr = skeleton->addr;
	u->low_pc = skeleton->low_pc;
	u->ranges = skeleton->ranges;
	/* A list of files alone, which gcc does not refer to. */
	if (u->lines == DWARF_NO_OFFSET && u->file->section[DWARF_LINE].size)
		u->lines = 0;
	if (u->encoding.version < 5)
		return;
	u->str_offsets = u->str_offsets ? u->str_offsets : header;
	u->rnglists = u->rnglists ? u->rnglists : header + 4;
}

/*
 * The unit at u->offset. 0, -EAGAIN where it cannot be read but the next one may be, or -EBADMSG.
 */
static int take_unit(struct dwarf_unit *u, uint8_t *room, size_t size,
		     const struct dwarf_unit *skeleton)
{
	const struct dwarf_unit empty = { .file = u->file,
					  .address_file = u->file,
					  .offset = u->offset,
					  .lines = DWARF_NO_OFFSET };
	long n = dwarf_peek(u->file, DWARF_INFO, u->offset, room, size);
	struct cursor c = { room, room + (n > 0 ? n : 0), 0 };
	int err;

	*u = empty;
	if (n <= 0 || take_header(&c, u, u->file->section[DWARF_INFO].size))
		return -EBADMSG;
	if (!dwarf_is_readable(u->encoding))
		return -EAGAIN;
	u->entries = u->offset + (uint64_t)(c.p - room);
	if (c.end - room > (long)(u->end - u->offset))
		c.end = room + (u->end - u->offset);
	err = take_root(u, &c, room);
	if (err && size == PEEK)
		return take_unit(u, room, PEEK_MAX, skeleton);
	if (skeleton)
		inherit(u, skeleton);
	if (!err && dwarf_address(u, u->low, &u->low_pc) && !skeleton)
		u->low_pc = 0;
	return err ? -EAGAIN : 0;
}

void dwarf_units_read(struct dwarf_file *f, const struct dwarf_unit *skeleton, dwarf_units *out)
{
	uint8_t *room = xmalloc(PEEK_MAX);
	struct dwarf_unit u = { .file = f };
	int err = 0;

	for (uint64_t at = 0;
	     at < f->section[DWARF_INFO].size && out->n < UNITS_MAX && !dwarf_spend(f, PEEK);
	     at = u.end) {
		u.file = f;
		u.offset = at;
		err = take_unit(&u, room, PEEK, skeleton);
		if (err && err != -EAGAIN)
			break;
		if (!err)
			vec_push(out, u);
	}
	free(room);
}

const struct dwarf_unit *dwarf_unit_at(const dwarf_units *units, uint64_t offset)
{
	size_t low = upper_bound(units->v, units->n, .offset, offset);

	return low && offset >= units->v[low - 1].entries && offset < units->v[low - 1].end
		       ? &units->v[low - 1]
		       : NULL;
}

/* --- Values that need their unit. ----------------------------------------------- */

int dwarf_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *out)
{
	unsigned size = u->encoding.address_size;

	*out = v.u;
	if (v.kind == DWARF_ADDRESS)
		return 0;
	if (v.kind != DWARF_ADDRESS_INDEX || v.u > UINT32_MAX)
		return -EBADMSG;
	return dwarf_number(u->address_file, DWARF_ADDR, u->addr + v.u * size, size, out);
}

int dwarf_text(const struct dwarf_unit *u, struct dwarf_value v, char *dst, size_t size)
{
	unsigned step = u->encoding.offset_size;
	uint64_t at;
	int err;

	switch (v.kind) {
	case DWARF_STRING_HERE:	return dwarf_string(u->file, DWARF_INFO, v.u, dst, size);
	case DWARF_STRING:	return dwarf_string(u->file, DWARF_STR, v.u, dst, size);
	case DWARF_LINE_STRING:	return dwarf_string(u->file, DWARF_LINE_STR, v.u, dst, size);
	case DWARF_STRING_INDEX:
		err = v.u > UINT32_MAX ? -EBADMSG
				       : dwarf_number(u->file, DWARF_STR_OFFSETS,
						      u->str_offsets + v.u * step, step, &at);
		return err ? err : dwarf_string(u->file, DWARF_STR, at, dst, size);
	default:		return -ENOENT;
	}
}
