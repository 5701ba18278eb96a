/* SPDX-License-Identifier: MIT */
#include "unwind/table/table.h"

#include <stdlib.h>
#include <string.h>

#define GAP		(EBP_RULE_SPECIAL | EBP_RULE_GAP)

void unwind_table_free(struct unwind_table *t)
{
	free(t->page);
	free(t->block);
	free(t->bytes);
	free(t->exotic);
	*t = (struct unwind_table){ 0 };
}

uint16_t unwind_table_rule(const struct unwind_table *t, uint64_t offset)
{
	uint64_t page = (offset >> EBP_PAGE_SHIFT) - t->first_page;
	uint32_t low = offset & ((1u << EBP_BUCKET_SHIFT) - 1), bucket, i, end;
	const uint8_t *p, *lows, *ids;
	struct ebp_block head;
	uint16_t id, rule;

	if (page >= t->npages || t->page[page] == UNWIND_PAGE_NONE)
		return GAP;
	p = t->bytes + t->block[t->page[page]];
	memcpy(&head, p, sizeof(head));
	bucket = (offset & (EBP_PAGE_BYTES - 1)) >> EBP_BUCKET_SHIFT;
	lows = p + sizeof(head) + 2 * head.ndict;
	ids = lows + head.nrows;
	end = head.first[bucket + 1];
	for (i = head.first[bucket]; i < end && lows[i] <= low; i++)
		;
	if (!i)
		return head.before;
	id = ids[i - 1];
	if (head.flags & EBP_BLOCK_WIDE) {
		ids += (size_t)(ids - t->bytes) & 1;
		memcpy(&id, ids + 2 * (i - 1), sizeof(id));
	}
	memcpy(&rule, p + sizeof(head) + 2 * id, sizeof(rule));
	return rule;
}
