/* SPDX-License-Identifier: MIT */
/* From the registers of a frame to those of its caller, all of them. */
#include <elf.h>
#include <errno.h>

#include "dwarf/cfi.h"
#include "dwarf/cfi_internal.h"

#define X86_SP		7
#define ARM64_SP	31
/* What a callee gives back unchanged: rbx, rbp, r12-r15 (psABI 3.2.1); x19-x29 (AAPCS64 6.1.1). */
#define X86_KEPT	(1ull << 3 | 1ull << 6 | 0xfull << 12)
#define ARM64_KEPT	(0x7ffull << 19)

static int value_of(const struct cfi_value *v, const struct cfi_registers *regs, uint64_t same,
		    const uint64_t *cfa, cfi_read *read, void *ctx, uint64_t *out)
{
	int err;

	/* The CFA itself, which no program can give such a rule. */
	if (!cfa && (v->kind == CFI_OFFSET || v->kind == CFI_VAL_OFFSET))
		return -EBADMSG;
	switch (v->kind) {
	case CFI_SAME:
	case CFI_REGISTER:
		if (v->kind == CFI_REGISTER)
			same = v->reg;
		if (same >= CFI_REGS || !(regs->known >> same & 1))
			return -ENODATA;
		*out = regs->r[same] + (v->kind == CFI_REGISTER ? (uint64_t)v->offset : 0);
		return 0;
	case CFI_OFFSET:
		return read(ctx, *cfa + (uint64_t)v->offset, 8, out);
	case CFI_VAL_OFFSET:
		*out = *cfa + (uint64_t)v->offset;
		return 0;
	case CFI_EXPRESSION:
	case CFI_VAL_EXPRESSION:
		err = cfi_evaluate(v, regs, cfa, read, ctx, out);
		return err || v->kind == CFI_VAL_EXPRESSION ? err : read(ctx, *out, 8, out);
	default:
		return -ENODATA;
	}
}

/*
 * A return address signed by pointer authentication (Armv8.3) has its code in
 * the bits that an address does not use. Addresses of user space have 48 bits,
 * unless a program asks mmap for more (52-bit VA), which for code none does;
 * bit 55, which tells the kernel's half, is 0. So what is left is the address.
 */
static uint64_t strip_code(uint64_t address)
{
	return address & 0xffffffffffffull;
}

#define PUSHED 16	/* bytes, by the PLT */

int cfi_is_low(uint16_t machine, const struct cfi_row *row)
{
	const struct cfi_value *ra = &row->reg[row->ra];

	return machine == EM_AARCH64 && ra->kind == CFI_OFFSET && ra->offset >= 0 &&
	       ra->offset < PUSHED && row->cfa.kind == CFI_REGISTER;
}

void cfi_mend(uint16_t machine, struct cfi_row *row)
{
	if (!cfi_is_low(machine, row))
		return;
	row->cfa.offset += PUSHED;
	for (int r = 0; r < CFI_REGS; r++)
		if (row->reg[r].kind == CFI_OFFSET || row->reg[r].kind == CFI_VAL_OFFSET)
			row->reg[r].offset -= PUSHED;
}

int cfi_apply(const struct cfi_section *s, const struct cfi_row *row, struct cfi_registers *regs,
	      cfi_read *read, void *ctx)
{
	const int arm = s->machine == EM_AARCH64;
	const unsigned sp = arm ? ARM64_SP : X86_SP;
	const struct cfi_value *ra = &row->reg[row->ra];
	/* Without a rule, what the ABI lets a callee change is taken as changed. */
	const uint64_t wanted = (row->touched | (arm ? ARM64_KEPT : X86_KEPT)) & ~(1ull << row->ra);
	struct cfi_registers next = { .known = 0 };
	uint64_t cfa, pc;
	int err;

	if (ra->kind == CFI_UNDEFINED)
		return 1;
	/* Only aarch64 leaves the return address in a register that is the column itself. */
	if (ra->kind == CFI_SAME && !arm)
		return -EBADMSG;
	err = value_of(&row->cfa, regs, CFI_REGS, NULL, read, ctx, &cfa);
	if (!err)
		err = value_of(ra, regs, row->ra, &cfa, read, ctx, &pc);
	if (err)
		return err;
	for (unsigned r = 0; r < CFI_REGS; r++) {
		/* One that cannot be found is not known; that is an error once it is needed. */
		if ((wanted >> r & 1) &&
		    !value_of(&row->reg[r], regs, r, &cfa, read, ctx, &next.r[r]))
			next.known |= 1ull << r;
	}
	if (!(row->touched >> sp & 1)) {
		next.r[sp] = cfa;
		next.known |= 1ull << sp;
	}
	next.r[row->ra] = arm && row->ra_signed ? strip_code(pc) : pc;
	next.known |= 1ull << row->ra;
	*regs = next;
	return 0;
}
