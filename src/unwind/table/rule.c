/* SPDX-License-Identifier: MIT */
#include "unwind/table/rule.h"

#include <elf.h>
#include <string.h>

#define X86_RBP	6
#define X86_RSP	7
#define X86_RIP	16
#define ARM64_FP 29
#define ARM64_LR 30
#define ARM64_SP 31

/* DWARF 5, 7.7.1 */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

#define SPECIAL(rule) (uint16_t)(EBP_RULE_SPECIAL | (rule))

/* A (signed) LEB128 number of at most four bytes at *@p; 0, or -1. */
static int leb(const uint8_t **p, const uint8_t *end, int is_signed, int32_t *out)
{
	uint32_t value = 0;

	for (unsigned shift = 0; *p < end && shift < 28; shift += 7) {
		uint8_t byte = *(*p)++;

		value |= (uint32_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && byte & 0x40)
			value |= ~0u << (shift + 7);
		*out = (int32_t)value;
		return 0;
	}
	return -1;
}

/* "reg + offset", or "*(reg + offset) + add". */
struct shape {
	uint8_t reg, deref;
	int32_t offset, add;
};

static int parse_shape(const struct cfi_value *v, struct shape *s)
{
	const uint8_t *p = v->expression, *end = p + v->size;

	*s = (struct shape){ 0 };
	if (p == end || *p < OP_BREG0 || *p > OP_BREG31)
		return -1;
	s->reg = *p++ - OP_BREG0;
	if (leb(&p, end, 1, &s->offset))
		return -1;
	if (p < end && *p == OP_DEREF) {
		s->deref = 1;
		p++;
	}
	if (p < end && *p == OP_PLUS_UCONST) {
		p++;
		if (leb(&p, end, 0, &s->add))
			return -1;
	}
	return p == end ? 0 : -1;
}

/* rsp + 8 + (((rip & 15) >= N) << 3), as linkers describe .plt; the special rule, or 0. */
static uint16_t plt_rule(const struct cfi_value *v)
{
	static const uint8_t like[] = {
		OP_BREG0 + X86_RSP,
		8,
		OP_BREG0 + X86_RIP,
		0,
		OP_LIT0 + 15,
		OP_AND,
		0,
		OP_GE,
		OP_LIT0 + 3,
		OP_SHL,
		OP_PLUS,
	};

	if (v->size != sizeof(like) || memcmp(v->expression, like, 6) ||
	    memcmp(v->expression + 7, like + 7, 4))
		return 0;
	return v->expression[6] == OP_LIT0 + 10 ? SPECIAL(EBP_RULE_PLT10) :
	       v->expression[6] == OP_LIT0 + 11 ? SPECIAL(EBP_RULE_PLT11) : 0;
}

/* Columns behind these are no registers that the step has: rip, vectors. */
static int is_general(uint16_t machine, unsigned reg)
{
	return reg <= (machine == EM_AARCH64 ? ARM64_SP : 15u);
}

static int fits(int64_t x)
{
	return x == (int32_t)x;
}

static int exotic_cfa(const struct cfi_value *v, struct ebp_exotic *x)
{
	struct shape s;

	if (v->kind == CFI_REGISTER && fits(v->offset)) {
		x->cfa = EBP_CFA_REG;
		x->cfa_reg = v->reg;
		x->cfa_offset = (int32_t)v->offset;
		return 0;
	}
	if (v->kind != CFI_VAL_EXPRESSION || parse_shape(v, &s) || (s.add && !s.deref))
		return -1;
	x->cfa = s.deref ? EBP_CFA_DEREF : EBP_CFA_REG;
	x->cfa_reg = s.reg;
	x->cfa_offset = s.offset;
	x->cfa_add = s.add;
	return 0;
}

static int exotic_place(const struct cfi_value *v, uint8_t *kind, uint8_t *reg, int32_t *offset)
{
	static const uint8_t kinds[] = {
		[CFI_SAME] = EBP_AT_SAME,    [CFI_UNDEFINED] = EBP_AT_UNDEFINED,
		[CFI_OFFSET] = EBP_AT_CFA,   [CFI_VAL_OFFSET] = EBP_IS_CFA,
		[CFI_REGISTER] = EBP_IN_REG, [CFI_EXPRESSION] = EBP_AT_REG,
	};
	struct shape s;

	if (v->kind >= sizeof(kinds))
		return -1;
	*kind = kinds[v->kind];
	*reg = v->reg;
	*offset = 0;
	if (v->kind == CFI_OFFSET || v->kind == CFI_VAL_OFFSET) {
		if (!fits(v->offset))
			return -1;
		*offset = (int32_t)v->offset;
	} else if (v->kind == CFI_REGISTER && v->offset) {
		return -1;
	} else if (v->kind == CFI_EXPRESSION) {
		if (parse_shape(v, &s) || s.deref || s.add)
			return -1;
		*reg = s.reg;
		*offset = s.offset;
	}
	return 0;
}

/*
 * A return address that is in its register says so on aarch64 only: rip is no register to keep one
 * in.
 */
static uint16_t exotic(uint16_t machine, const struct cfi_row *row, const struct cfi_value *fp,
		       const struct cfi_value *ra, struct ebp_exotic *x)
{
	*x = (struct ebp_exotic){ 0 };
	if (exotic_cfa(&row->cfa, x) || exotic_place(fp, &x->fp, &x->fp_reg, &x->fp_offset) ||
	    exotic_place(ra, &x->ra, &x->ra_reg, &x->ra_offset) ||
	    !is_general(machine, x->cfa_reg) || !is_general(machine, x->fp_reg) ||
	    !is_general(machine, x->ra_reg) || (x->ra == EBP_AT_SAME && machine != EM_AARCH64))
		return SPECIAL(EBP_RULE_UNSUPPORTED);
	return SPECIAL(EBP_RULE_EXOTIC);
}

/* The part of a plain rule that says the CFA, or -1. */
static int plain_cfa(const struct cfi_value *v, int sp, int fp, int unit)
{
	if (v->kind != CFI_REGISTER || (v->reg != sp && v->reg != fp) || v->offset < 0 ||
	    v->offset % unit || v->offset / unit > (int64_t)EBP_RULE_OFFSET_MASK)
		return -1;
	return (v->reg == fp ? (int)EBP_RULE_FP_BASE : 0) | (int)(v->offset / unit);
}

static uint16_t rule_x86(const struct cfi_row *row, struct ebp_exotic *x)
{
	const struct cfi_value *fp = &row->reg[X86_RBP], *ra = &row->reg[row->ra];
	int plain = plain_cfa(&row->cfa, X86_RSP, X86_RBP, 8);
	uint16_t plt = 0;

	if (ra->kind == CFI_UNDEFINED)
		return SPECIAL(EBP_RULE_STOP);
	if (row->signal)
		return SPECIAL(EBP_RULE_SIGNAL);
	if (row->cfa.kind == CFI_VAL_EXPRESSION)
		plt = plt_rule(&row->cfa);
	if (plt && fp->kind == CFI_SAME)
		return plt;
	if (plain >= 0 && ra->kind == CFI_OFFSET && ra->offset == -8) {
		if (fp->kind == CFI_SAME)
			return (uint16_t)plain;
		if (fp->kind == CFI_OFFSET && fp->offset <= -16 && fp->offset >= -64 &&
		    fp->offset % 8 == 0)
			return (uint16_t)(plain | (int)(-fp->offset / 8 - 1)
							  << EBP_RULE_SAVED_SHIFT);
	}
	return exotic(EM_X86_64, row, fp, ra, x);
}

/* enum ebp_saved_arm64, or -1. @frame: the CFA's distance from its base. */
static int saved_arm64(const struct cfi_value *fp, const struct cfi_value *lr, int64_t frame)
{
	if (lr->kind == CFI_SAME && fp->kind == CFI_SAME)
		return EBP_SAVED_NOTHING;
	if (lr->kind != CFI_OFFSET)
		return -1;
	if (fp->kind == CFI_SAME)
		return lr->offset == -frame ? EBP_SAVED_LR_LOW
		       : lr->offset == -16  ? EBP_SAVED_LR_HIGH
		       : lr->offset == -8   ? EBP_SAVED_LR_TOP
					    : -1;
	if (fp->kind != CFI_OFFSET || lr->offset != fp->offset + 8)
		return -1;
	return fp->offset == -frame ? EBP_SAVED_PAIR_LOW : fp->offset == -16 ? EBP_SAVED_PAIR_HIGH :
	       fp->offset == -32 ? EBP_SAVED_PAIR_32 : fp->offset == -48 ? EBP_SAVED_PAIR_48 : -1;
}

static uint16_t rule_arm64(const struct cfi_row *row, struct ebp_exotic *x)
{
	const struct cfi_value *fp = &row->reg[ARM64_FP], *lr = &row->reg[row->ra];
	const struct cfi_value own = { .kind = CFI_REGISTER, .reg = row->ra };
	int plain = plain_cfa(&row->cfa, ARM64_SP, ARM64_FP, 16), saved;

	if (lr->kind == CFI_UNDEFINED)
		return SPECIAL(EBP_RULE_STOP);
	if (row->signal)
		return SPECIAL(EBP_RULE_SIGNAL);
	/*
	 * Code that moves its return address at once (rawmemchr of glibc): SAME then means that
	 * register.
	 */
	if (row->ra != ARM64_LR)
		return exotic(EM_AARCH64, row, fp, lr->kind == CFI_SAME ? &own : lr, x);
	saved = plain < 0 ? -1 : saved_arm64(fp, lr, row->cfa.offset);
	if (saved >= 0)
		return (uint16_t)(plain | saved << EBP_RULE_SAVED_SHIFT);
	return exotic(EM_AARCH64, row, fp, lr, x);
}

uint16_t unwind_rule(uint16_t machine, const struct cfi_row *row, struct ebp_exotic *x)
{
	struct cfi_row mended;

	if (machine != EM_AARCH64)
		return rule_x86(row, x);
	if (!cfi_is_low(machine, row))
		return rule_arm64(row, x);
	mended = *row;
	cfi_mend(machine, &mended);
	return rule_arm64(&mended, x);
}
