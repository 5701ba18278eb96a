/* SPDX-License-Identifier: MIT */
/*
 * Rules in the order of their places, packed into page blocks. Used by
 * build.c alone.
 */
#ifndef EBPROF_UNWIND_TABLE_PACK_H
#define EBPROF_UNWIND_TABLE_PACK_H

#include "base/vec.h"
#include "unwind/table/table.h"

/* From @offset of the file to the next one's, @rule holds. */
struct unwind_row {
	uint32_t offset;
	uint16_t rule;
};

/* before the first row, and where there is no CFI */
#define UNWIND_GAP	(EBP_RULE_SPECIAL | EBP_RULE_GAP)

typedef VEC(struct unwind_row) unwind_rows;

/* Fills pages and blocks of @out from @rows, ascending; the last one must be a gap. */
void unwind_pack(const unwind_rows *rows, struct unwind_table *out);

/* Adds a row behind all others; one that says what holds already is left out. */
void unwind_push_row(unwind_rows *rows, uint64_t offset, uint16_t rule);
/* @rule for @bytes at @offset, within what was pushed last; no row begins inside of them. */
void unwind_put_row(unwind_rows *rows, uint64_t offset, uint64_t bytes, uint16_t rule);

#endif
