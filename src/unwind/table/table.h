/* SPDX-License-Identifier: MIT */
/*
 * The unwind table of one ELF file: its CFI, packed as bpf/unwind.h says, in
 * plain memory. Where it will lie in the shards is not known yet, so pages and
 * blocks are named by number here; shards/store.h places them.
 */
#ifndef EBPROF_UNWIND_TABLE_TABLE_H
#define EBPROF_UNWIND_TABLE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

#define UNWIND_PAGE_NONE	UINT32_MAX	/* no rule in this page: EBP_REF_GAP */

struct unwind_table {
	uint32_t first_page;	/* of the file; see struct ebp_object */
	uint32_t npages;
	/* npages: index of its block, which several may share, or UNWIND_PAGE_NONE */
	uint32_t *page;
	uint32_t nblocks;
	/* nblocks + 1: where in @bytes each begins; 16-aligned; each less than 324 KiB */
	uint32_t *block;
	uint8_t *bytes;
	struct ebp_exotic *exotic;
	uint32_t nexotic;
	uint32_t flags;		/* EBP_OBJECT_NO_CFI */
	/* For the account. */
	uint64_t rows;		/* in all blocks */
	uint64_t code;		/* bytes of code that rules were found for */
};

void unwind_table_free(struct unwind_table *t);

/*
 * The rule of @offset of the file, as the step would find it; EBP_RULE_SPECIAL | EBP_RULE_GAP where
 * there is none.
 */
uint16_t unwind_table_rule(const struct unwind_table *t, uint64_t offset);

#endif
