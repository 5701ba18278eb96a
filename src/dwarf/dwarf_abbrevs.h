/* SPDX-License-Identifier: MIT */
/* A table of abbreviations (DWARF 5, 7.5.3): what a debugging information entry consists of. */
#ifndef EBPROF_DWARF_ABBREVS_H
#define EBPROF_DWARF_ABBREVS_H

#include <stdint.h>

#include "base/vec.h"

struct dwarf_attribute {
	uint16_t name, form;	/* DW_AT_*, DW_FORM_* */
	int64_t implicit;	/* of DW_FORM_implicit_const */
};

struct dwarf_abbrev {
	uint64_t code;
	uint16_t tag;		/* DW_TAG_* */
	uint8_t children;
	/* bytes of all attributes in 32-bit DWARF with 8-byte addresses; -1: that varies */
	int32_t fixed;
	uint32_t first, n;	/* in the table's attributes */
};

struct dwarf_abbrevs {
	uint64_t offset;	/* in .debug_abbrev */
	VEC(struct dwarf_abbrev) list;	/* by ascending code; mostly code is place + 1 */
	VEC(struct dwarf_attribute) attributes;
};

void dwarf_abbrevs_free(struct dwarf_abbrevs *t);
/* By code, where they did not come so. */
void dwarf_abbrevs_sort(struct dwarf_abbrevs *t);

/* The abbreviation of @code (not 0), or NULL. */
const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *t, uint64_t code);

static inline const struct dwarf_abbrev *dwarf_abbrev_of(const struct dwarf_abbrevs *t,
							 uint64_t code)
{
	if (code <= t->list.n && t->list.v[code - 1].code == code)
		return &t->list.v[code - 1];
	return dwarf_abbrev_find(t, code);
}

#endif
