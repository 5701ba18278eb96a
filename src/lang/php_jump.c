/* SPDX-License-Identifier: MIT */
#include "lang/php_jump.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "bpf/unwind.h"
#include "dwarf/cfi.h"
#include "dwarf/cfi_load.h"

#define LOOP_MAX	(1u << 20)	/* bytes; 64 KiB seen */
/* x86-64 psABI, figure 3.36 */
#define RBP	6
#define RSP	7

/* `jmp *(%r15)`: to the handler of the next instruction. */
static const uint8_t jump[] = { 0x41, 0xff, 0x27 };

/* Bytes from the loop's beginning to behind its first such jump; 0: it has none. */
static uint32_t find_jump(const struct elf_file *f, const struct ebp_layout *layout)
{
	size_t n = layout->loop_bytes;
	const uint8_t *at;
	uint8_t *code;
	uint32_t found = 0;

	if (n > LOOP_MAX)
		return 0;
	code = xmalloc(n + 1);
	at = elf_file_read(f, layout->loop, code, n) ? NULL : memmem(code, n, jump, sizeof(jump));
	if (at)
		found = (uint32_t)(at - code) + sizeof(jump);
	free(code);
	return found;
}

/* The CFA at @pc as a rule (bpf/unwind.h); 0: it is not plain. */
static uint32_t rule_at(const struct cfi_section *s, const struct cfi_fde *fde, uint64_t pc)
{
	struct cfi_row row;
	int64_t words;

	if (cfi_row_at(s, fde, pc, &row) || row.cfa.kind != CFI_REGISTER ||
	    (row.cfa.reg != RSP && row.cfa.reg != RBP) || row.cfa.offset % 8)
		return 0;
	words = row.cfa.offset / 8;
	if (words <= 0 || words > EBP_RULE_OFFSET_MASK)
		return 0;
	return (uint32_t)words | (row.cfa.reg == RBP ? EBP_RULE_FP_BASE : 0);
}

void php_find_jump(const struct elf_file *f, uint64_t skew, struct ebp_layout *out)
{
	uint32_t at = find_jump(f, out), rule = 0;
	uint64_t pc = out->loop + skew + at - sizeof(jump);
	struct cfi_section section;
	struct cfi_fde *fdes = NULL;
	size_t n = 0;

	if (!at || cfi_load_eh_frame(f, &section))
		return;
	if (cfi_fdes(&section, &fdes, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n && !rule; i++)
		if (pc >= fdes[i].start && pc < fdes[i].end)
			rule = rule_at(&section, &fdes[i], pc);
	free(fdes);
	free((void *)section.data);
	if (!rule)
		return;
	out->jump = at;
	out->jump_rule = rule;
}
