/* SPDX-License-Identifier: MIT */
/* Values of attributes (DWARF 5, 7.5.5 and 7.5.6; GNU's forms as in binutils' dwarf2.def). */
#ifndef EBPROF_DWARF_FORM_H
#define EBPROF_DWARF_FORM_H

#include "base/cursor.h"

enum dwarf_kind {
	/* a form that is not known, or of no use to us: blocks, type signatures */
	DWARF_NOTHING,
	DWARF_CONSTANT,		/* also flags */
	DWARF_SIGNED,		/* a constant that was stored with its sign */
	DWARF_ADDRESS,
	DWARF_ADDRESS_INDEX,	/* in .debug_addr */
	DWARF_STRING_HERE,	/* the value is where it is in .debug_info */
	DWARF_STRING,		/* offset in .debug_str */
	DWARF_LINE_STRING,	/* in .debug_line_str */
	DWARF_STRING_INDEX,	/* in .debug_str_offsets */
	DWARF_STRING_ALT,	/* in .debug_str of the file that dwz made */
	DWARF_REF_UNIT,		/* offset from the unit's header */
	DWARF_REF,		/* offset in .debug_info */
	DWARF_REF_ALT,		/* in that of dwz's file */
	DWARF_OFFSET,		/* in the section that the attribute means */
	DWARF_RANGES_INDEX,	/* in the unit's list of range lists */
};

struct dwarf_value {
	enum dwarf_kind kind;	/* DWARF_NOTHING: the attribute is not there */
	uint64_t u;
};

struct dwarf_encoding {
	uint8_t offset_size, address_size;	/* bytes; 4 or 8 */
	uint8_t version;
};

/* Versions 2 to 5, and no other sizes: whatever is read from a file must pass here. */
static inline int dwarf_is_readable(struct dwarf_encoding e)
{
	return e.version >= 2 && e.version <= 5 && (e.address_size == 8 || e.address_size == 4);
}

/*
 * Bytes that @form takes in 32-bit DWARF of version 3 or later with 8-byte addresses; -1: that
 * varies.
 */
int dwarf_form_size(uint16_t form);
/*
 * The next value. @info: what the cursor's first byte of .debug_info is at c->p. Sets c->bad for
 * forms not known.
 */
struct dwarf_value dwarf_form_read(struct cursor *c, uint16_t form, int64_t implicit,
				   struct dwarf_encoding e, const uint8_t *info);

#endif
