/* SPDX-License-Identifier: MIT */
/*
 * Units of .debug_info (DWARF 5, 7.5.1): their headers and what their root
 * entries say, which is enough to know what code each describes.
 */
#ifndef EBPROF_DWARF_UNIT_H
#define EBPROF_DWARF_UNIT_H

#include "dwarf/dwarf_abbrev.h"
#include "dwarf/dwarf_form.h"

#define DWARF_NO_OFFSET UINT64_MAX
#define DWARF_NO_FILE UINT32_MAX	/* in place of a file's number in a line table */

struct dwarf_unit {
	struct dwarf_file *file;
	struct dwarf_file *address_file;	/* has .debug_addr: another one for split units */
	/* in .debug_info: the header, the root entry, what follows */
	uint64_t offset, entries, end;
	uint64_t abbrev;			/* offset of its abbreviations */
	struct dwarf_encoding encoding;
	uint8_t type;				/* DW_UT_* */
	uint64_t low_pc;			/* base of its range lists */
	uint64_t str_offsets, addr, rnglists;	/* bases in those sections */
	uint64_t ranges;			/* GNU's split DWARF 4 */
	uint64_t lines;				/* offset of its line program, or DWARF_NO_OFFSET */
	uint64_t dwo_id;
	struct dwarf_value name, directory, dwo_name;
	struct dwarf_value low, high, range_list;	/* of the root entry, as they were */
};

struct dwarf_range { uint64_t start, end; };
typedef VEC(struct dwarf_range) dwarf_ranges;

typedef VEC(struct dwarf_unit) dwarf_units;

/*
 * All units of @f; what is damaged ends the list. @skeleton: of split DWARF, whose addresses are in
 * its file; or NULL.
 */
void dwarf_units_read(struct dwarf_file *f, const struct dwarf_unit *skeleton, dwarf_units *out);
/* The unit that holds @offset of .debug_info, or NULL. */
const struct dwarf_unit *dwarf_unit_at(const dwarf_units *units, uint64_t offset);

/* The address that @v is. 0, or -EBADMSG: it is none. */
int dwarf_address(const struct dwarf_unit *u, struct dwarf_value v, uint64_t *out);
/* The string that @v is, cut. 0, or negative. Strings of dwz's file are the caller's. */
int dwarf_text(const struct dwarf_unit *u, struct dwarf_value v, char *dst, size_t size);
/*
 * Adds what an entry covers, by DW_AT_low_pc, _high_pc and _ranges: nothing where it has no code,
 * or its code was thrown away by the linker (its addresses then are 0, or very high).
 */
void dwarf_entry_ranges(const struct dwarf_unit *u, struct dwarf_value low, struct dwarf_value high,
			struct dwarf_value list, dwarf_ranges *out);

#endif
