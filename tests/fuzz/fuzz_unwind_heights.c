/* SPDX-License-Identifier: MIT */
/*
 * Stack heights of bytes that may be anything: it ends, rows ascend and are rules. The first byte
 * says at how many places functions begin, and the next ones where.
 */
#include <stdint.h>
#include <stdlib.h>

#include "unwind/code/heights.h"

#define ENTRIES 8

static void take_row(void *ctx, size_t at, uint16_t rule, const struct ebp_exotic *x)
{
	size_t *next = ctx;

	int exotic = rule == (EBP_RULE_SPECIAL | EBP_RULE_EXOTIC);

	if (at < *next || (exotic && (!x || x->cfa_offset < 8)))
		abort();
	*next = at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t entries[ENTRIES];
	struct unwind_code c = { .entries = entries };
	size_t next = 0, at = 0;

	if (size < 1 + ENTRIES)
		return 0;
	c.code = data + 1 + ENTRIES;
	c.n = size - 1 - ENTRIES;
	for (; c.nentries < data[0] % (ENTRIES + 1); c.nentries++)
		entries[c.nentries] = at += data[1 + c.nentries];
	unwind_heights(&c, take_row, &next);
	return 0;
}
