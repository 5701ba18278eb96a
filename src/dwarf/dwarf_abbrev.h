/* SPDX-License-Identifier: MIT */
/* Reads abbreviations (DWARF 5, 7.5.3), and keeps them with their file. */
#ifndef EBPROF_DWARF_ABBREV_H
#define EBPROF_DWARF_ABBREV_H

#include "dwarf/dwarf_abbrevs.h"
#include "dwarf/dwarf_file.h"

/* The table at @offset, kept until the next call. NULL where it is damaged. */
const struct dwarf_abbrevs *dwarf_abbrevs_at(struct dwarf_file *f, uint64_t offset);
/* Of that table only the abbreviation of @code (not 0), if it has it; kept until the next call. */
const struct dwarf_abbrevs *dwarf_abbrevs_root(struct dwarf_file *f, uint64_t offset,
					       uint64_t code);

#endif
