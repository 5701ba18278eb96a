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

typedef VEC(struct unwind_row) unwind_rows;

/* Fills pages and blocks of @out from @rows, ascending; the last one must be a gap. */
void unwind_pack(const unwind_rows *rows, struct unwind_table *out);

#endif
