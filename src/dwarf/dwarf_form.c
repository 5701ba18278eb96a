/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_form.h"

#include <dwarf.h>

/* How many bytes a form has: a number, or one of these. */
enum {
	UNKNOWN,
	ADDRESS = 32,
	OFFSET,
	REF_ADDR,
	ULEB,
	SLEB,
	BLOCK1,
	BLOCK2,
	BLOCK4,
	BLOCK,
	TEXT,
	NONE,
	IMPLICIT,
	INDIRECT
};

struct form {
	uint8_t size, kind;
};

static const struct form forms[] = {
	[DW_FORM_addr] = { ADDRESS, DWARF_ADDRESS },
	[DW_FORM_block2] = { BLOCK2, DWARF_NOTHING },
	[DW_FORM_block4] = { BLOCK4, DWARF_NOTHING },
	[DW_FORM_data2] = { 2, DWARF_CONSTANT },
	[DW_FORM_data4] = { 4, DWARF_CONSTANT },
	[DW_FORM_data8] = { 8, DWARF_CONSTANT },
	[DW_FORM_string] = { TEXT, DWARF_STRING_HERE },
	[DW_FORM_block] = { BLOCK, DWARF_NOTHING },
	[DW_FORM_block1] = { BLOCK1, DWARF_NOTHING },
	[DW_FORM_data1] = { 1, DWARF_CONSTANT },
	[DW_FORM_flag] = { 1, DWARF_CONSTANT },
	[DW_FORM_sdata] = { SLEB, DWARF_SIGNED },
	[DW_FORM_strp] = { OFFSET, DWARF_STRING },
	[DW_FORM_udata] = { ULEB, DWARF_CONSTANT },
	[DW_FORM_ref_addr] = { REF_ADDR, DWARF_REF },
	[DW_FORM_ref1] = { 1, DWARF_REF_UNIT },
	[DW_FORM_ref2] = { 2, DWARF_REF_UNIT },
	[DW_FORM_ref4] = { 4, DWARF_REF_UNIT },
	[DW_FORM_ref8] = { 8, DWARF_REF_UNIT },
	[DW_FORM_ref_udata] = { ULEB, DWARF_REF_UNIT },
	[DW_FORM_indirect] = { INDIRECT, DWARF_NOTHING },
	[DW_FORM_sec_offset] = { OFFSET, DWARF_OFFSET },
	[DW_FORM_exprloc] = { BLOCK, DWARF_NOTHING },
	[DW_FORM_flag_present] = { NONE, DWARF_CONSTANT },
	[DW_FORM_strx] = { ULEB, DWARF_STRING_INDEX },
	[DW_FORM_addrx] = { ULEB, DWARF_ADDRESS_INDEX },
	[DW_FORM_ref_sup4] = { 4, DWARF_REF_ALT },
	[DW_FORM_strp_sup] = { OFFSET, DWARF_STRING_ALT },
	[DW_FORM_data16] = { 16, DWARF_NOTHING },
	[DW_FORM_line_strp] = { OFFSET, DWARF_LINE_STRING },
	[DW_FORM_ref_sig8] = { 8, DWARF_NOTHING },
	[DW_FORM_implicit_const] = { IMPLICIT, DWARF_SIGNED },
	[DW_FORM_loclistx] = { ULEB, DWARF_NOTHING },
	[DW_FORM_rnglistx] = { ULEB, DWARF_RANGES_INDEX },
	[DW_FORM_ref_sup8] = { 8, DWARF_REF_ALT },
	[DW_FORM_strx1] = { 1, DWARF_STRING_INDEX },
	[DW_FORM_strx2] = { 2, DWARF_STRING_INDEX },
	[DW_FORM_strx3] = { 3, DWARF_STRING_INDEX },
	[DW_FORM_strx4] = { 4, DWARF_STRING_INDEX },
	[DW_FORM_addrx1] = { 1, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx2] = { 2, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx3] = { 3, DWARF_ADDRESS_INDEX },
	[DW_FORM_addrx4] = { 4, DWARF_ADDRESS_INDEX },
};

/* GNU's, from 0x1f01 on. */
static const struct form gnu_forms[] = {
	[DW_FORM_GNU_addr_index - DW_FORM_GNU_addr_index] = { ULEB, DWARF_ADDRESS_INDEX },
	[DW_FORM_GNU_str_index - DW_FORM_GNU_addr_index] = { ULEB, DWARF_STRING_INDEX },
	[DW_FORM_GNU_ref_alt - DW_FORM_GNU_addr_index] = { OFFSET, DWARF_REF_ALT },
	[DW_FORM_GNU_strp_alt - DW_FORM_GNU_addr_index] = { OFFSET, DWARF_STRING_ALT },
};

static struct form form_of(uint64_t form)
{
	if (form < sizeof(forms) / sizeof(*forms))
		return forms[form];
	form -= DW_FORM_GNU_addr_index;
	return form < sizeof(gnu_forms) / sizeof(*gnu_forms)
		       ? gnu_forms[form]
		       : (struct form){ UNKNOWN, DWARF_NOTHING };
}

int dwarf_form_size(uint16_t form)
{
	int size = form_of(form).size;

	return size == UNKNOWN			    ? -1
	       : size <= 16			    ? size
	       : size == ADDRESS		    ? 8
	       : size == OFFSET || size == REF_ADDR ? 4
	       : size == NONE || size == IMPLICIT   ? 0
						    : -1;
}

static uint64_t text(struct cursor *c, const uint8_t *info)
{
	uint64_t at = (uint64_t)(c->p - info);
	const uint8_t *end = memchr(c->p, '\0', (size_t)(c->end - c->p));

	if (!end)
		return cursor_fail(c);
	c->p = end + 1;
	return at;
}

static uint64_t block(struct cursor *c, uint64_t size)
{
	cursor_skip(c, size);
	return 0;
}

struct dwarf_value dwarf_form_read(struct cursor *c, uint16_t form, int64_t implicit,
				   struct dwarf_encoding e, const uint8_t *info)
{
	struct form f = form_of(form);
	struct dwarf_value v = { f.kind, 0 };

	switch (f.size) {
	case UNKNOWN:	v.u = cursor_fail(c); break;
	case 16:	cursor_skip(c, 16); break;
	case ADDRESS:	v.u = cursor_fixed(c, e.address_size); break;
	case OFFSET:	v.u = cursor_fixed(c, e.offset_size); break;
	case REF_ADDR:
		v.u = cursor_fixed(c, e.version < 3 ? e.address_size : e.offset_size);
		break;
	case ULEB:	v.u = cursor_uleb(c); break;
	case SLEB:	v.u = (uint64_t)cursor_sleb(c); break;
	case BLOCK1:	block(c, cursor_fixed(c, 1)); break;
	case BLOCK2:	block(c, cursor_fixed(c, 2)); break;
	case BLOCK4:	block(c, cursor_fixed(c, 4)); break;
	case BLOCK:	block(c, cursor_uleb(c)); break;
	case TEXT:	v.u = text(c, info); break;
	case NONE:	v.u = 1; break;
	case IMPLICIT:	v.u = (uint64_t)implicit; break;
	case INDIRECT:
		form = (uint16_t)cursor_uleb(c);
		/* Not again, nor without its constant. */
		if (form == DW_FORM_indirect || form == DW_FORM_implicit_const)
			cursor_fail(c);
		else
			v = dwarf_form_read(c, form, 0, e, info);
		break;
	default:	v.u = cursor_fixed(c, f.size);
	}
	return v;
}
