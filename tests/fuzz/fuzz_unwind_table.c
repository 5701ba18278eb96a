/* SPDX-License-Identifier: MIT */
/* Any ELF file: its table holds together, whatever the file says. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "unwind/table/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * bpf/unwind.h's promises on a block: readers take them for granted here, where BPF masks instead.
 */
static void check_block(const struct unwind_table *t, uint32_t i)
{
	const uint8_t *p = t->bytes + t->block[i];
	size_t room = t->block[i + 1] - t->block[i], lows, ids;
	struct ebp_block head;

	if (t->block[i] % 16 || room < sizeof(head) || room > 324 << 10)
		abort();
	memcpy(&head, p, sizeof(head));
	lows = sizeof(head) + 2u * head.ndict;
	ids = lows + head.nrows;
	if (head.flags & EBP_BLOCK_WIDE ? ((ids + 1) & ~(size_t)1) + 2u * head.nrows > room
					: ids + head.nrows > room)
		abort();
	if (head.first[0] || head.first[EBP_BUCKETS] != head.nrows)
		abort();
	for (unsigned b = 0; b < EBP_BUCKETS; b++) {
		if (head.first[b] > head.first[b + 1])
			abort();
		for (unsigned r = head.first[b] + 1u; r < head.first[b + 1]; r++)
			if (p[lows + r] <= p[lows + r - 1])
				abort();
	}
}

static void check_rule(const struct unwind_table *t, uint64_t offset)
{
	uint16_t rule = unwind_table_rule(t, offset);

	if (rule & EBP_RULE_SPECIAL && (rule & ~EBP_RULE_SPECIAL) >= EBP_RULE_EXOTIC &&
	    (rule & ~EBP_RULE_SPECIAL) - EBP_RULE_EXOTIC >= t->nexotic)
		abort();
}

static void check_table(const struct unwind_table *t, size_t size)
{
	for (uint32_t i = 0; i < t->nblocks; i++)
		check_block(t, i);
	for (uint32_t i = 0; i < t->npages; i++)
		if (t->page[i] != UNWIND_PAGE_NONE && t->page[i] >= t->nblocks)
			abort();
	for (uint64_t offset = 0; offset < size; offset += 13)
		check_rule(t, offset);
	for (uint64_t offset = 0; offset < 5ull << 30; offset += (4 << 20) + 4097)
		check_rule(t, offset);
	for (uint32_t i = 0; i < t->nexotic; i++) {
		const struct ebp_exotic *x = &t->exotic[i];

		if (x->cfa > EBP_CFA_DEREF || x->fp > EBP_AT_UNDEFINED ||
		    x->ra > EBP_AT_UNDEFINED || (x->cfa_reg | x->fp_reg | x->ra_reg) > 31)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *own = memcpy(malloc(size + !size), data, size);
	struct elf_file *elf = elf_file_open_memory(own, size);
	struct unwind_table t;

	/* Also as its own separate debug file. */
	for (int debug = 0; elf && debug < 2; debug++) {
		if (unwind_table_build_for(elf_file_machine(elf) == EM_AARCH64 ? EM_AARCH64
									       : EM_X86_64,
					   elf, debug ? elf : NULL, &t))
			continue;
		check_table(&t, size);
		unwind_table_free(&t);
	}
	elf_file_free(elf);
	free(own);
	return 0;
}
