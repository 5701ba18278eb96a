/* SPDX-License-Identifier: MIT */
#include "unwind/code/height.h"

#define GAP		(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define STOP		(EBP_RULE_SPECIAL | EBP_RULE_STOP)
#define EXOTIC		(EBP_RULE_SPECIAL | EBP_RULE_EXOTIC)
#define HEIGHT_MAX	(1 << 24)
#define RBP_DWARF	6	/* psABI, figure 3.36 */
#define RSP_DWARF	7

static void lower(struct height *h, int64_t by)
{
	if (h->sp == HEIGHT_UNKNOWN)
		return;
	h->sp = by > -HEIGHT_MAX && by < HEIGHT_MAX ? h->sp + (int32_t)by : HEIGHT_UNKNOWN;
	if (h->sp < 0 || h->sp > HEIGHT_MAX)
		h->sp = HEIGHT_UNKNOWN;
}

static void set_sp(struct height *h, int64_t sp)
{
	h->sp = sp >= 0 && sp < HEIGHT_MAX ? (int32_t)sp : HEIGHT_UNKNOWN;
}

void height_lose_rbp(struct height *h)
{
	h->rbp = RBP_OTHER;
	h->fp = 0;
}

/* It becomes an address in the frame, @down from the CFA. */
static void set_rbp(struct height *h, int64_t down)
{
	height_lose_rbp(h);
	if (h->sp == HEIGHT_UNKNOWN || down < -HEIGHT_MAX || down > HEIGHT_MAX)
		return;
	h->rbp = RBP_FRAME;
	h->fp = (int32_t)down;
}

/* It is loaded from what lies @down from the CFA. */
static void load_rbp(struct height *h, int64_t down)
{
	int restored = h->sp != HEIGHT_UNKNOWN && h->saved && down == h->saved;

	height_lose_rbp(h);
	if (!restored)
		return;
	h->rbp = RBP_CALLERS;
	h->saved = 0;
}

static void save_rbp(struct height *h, int64_t down)
{
	if (h->rbp == RBP_CALLERS && h->sp != HEIGHT_UNKNOWN && down > 8 && down < HEIGHT_MAX)
		h->saved = (int32_t)down;
}

static void push(struct height *h, const struct x86 *i, unsigned reg)
{
	lower(h, 8);
	if (i->op >= 0x50 && i->op < 0x58 && reg == X86_RBP)
		save_rbp(h, h->sp);
}

static void pop(struct height *h, unsigned reg)
{
	int64_t from = h->sp;

	lower(h, -8);
	if (reg == X86_RSP)
		h->sp = HEIGHT_UNKNOWN;
	if (reg == X86_RBP)
		load_rbp(h, from);
}

static void leave(struct height *h)
{
	if (h->rbp == RBP_FRAME)
		set_sp(h, h->fp);
	else
		h->sp = HEIGHT_UNKNOWN;
	pop(h, X86_RBP);
}

/* How far from the CFA down the operand in memory is, or the register's value; HEIGHT_UNKNOWN. */
static int64_t down_of(const struct height *h, unsigned base, int64_t disp)
{
	if (base == X86_RSP && h->sp != HEIGHT_UNKNOWN)
		return h->sp - disp;
	if (base == X86_RBP && h->rbp == RBP_FRAME)
		return h->fp - disp;
	return HEIGHT_UNKNOWN;
}

/* @to becomes that. */
static void set_register(struct height *h, unsigned to, int64_t down)
{
	if (to == X86_RSP)
		set_sp(h, down);
	else if (to == X86_RBP && down != HEIGHT_UNKNOWN)
		set_rbp(h, down);
	else if (to == X86_RBP)
		height_lose_rbp(h);
}

/* mov between registers, and of rbp to and from the frame. */
static void move(struct height *h, const struct x86 *i)
{
	unsigned to = i->op == 0x89 ? i->rm : i->reg, from = i->op == 0x89 ? i->reg : i->rm;

	if (i->mod == 3)
		set_register(h, to, i->rex & 8 ? down_of(h, from, 0) : HEIGHT_UNKNOWN);
	else if (i->op == 0x89 && i->reg == X86_RBP && i->rex & 8)
		save_rbp(h, down_of(h, i->rm, i->disp));
	else if (i->op == 0x8b && i->reg == X86_RBP)
		load_rbp(h, down_of(h, i->rm, i->disp));
	else if (i->op == 0x8b && i->reg == X86_RSP)
		h->sp = HEIGHT_UNKNOWN;
}

/* add, or, adc, sbb, and, sub, xor, cmp with a number: the operation is in the reg field. */
static void operate(struct height *h, const struct x86 *i)
{
	enum { ADD, SUB = 5, CMP = 7 };
	unsigned which = i->reg & 7;
	int64_t by = which == ADD ? -i->imm : i->imm;

	if (i->mod != 3 || which == CMP)
		return;
	if (i->rm == X86_RSP) {
		if (which == ADD || which == SUB)
			lower(h, by);
		else
			h->sp = HEIGHT_UNKNOWN;
	} else if (i->rm == X86_RBP) {
		if ((which == ADD || which == SUB) && h->rbp == RBP_FRAME)
			set_rbp(h, h->fp + by);
		else
			height_lose_rbp(h);
	}
}

/* The register that an operation between two of them writes; X86_NOWHERE: none of ours. */
static unsigned written(const struct x86 *i)
{
	unsigned low = (i->op & 7) | (i->rex & 1) << 3;

	if (i->op < 0x38 && (i->op & 7) < 4)
		return i->op & 2 ? i->reg : i->mod == 3 ? i->rm : X86_NOWHERE;
	if (i->op == 0x63 || i->op == 0x69 || i->op == 0x6b)
		return i->reg;
	if ((i->op & 0xf8) == 0xb8 || (i->op > 0x90 && i->op < 0x98))
		return low;
	if (i->mod == 3 && (i->op == 0xc1 || i->op == 0xc7 || i->op == 0xd1 || i->op == 0xd3 ||
			    i->op == 0x87 || (i->op == 0xf7 && ((i->reg & 7) & 6) == 2) ||
			    (i->op == 0xff && (i->reg & 7) < 2)))
		return i->rm;
	return X86_NOWHERE;
}

/*
 * Zero in rbp that is still the caller's marks the outermost frame (psABI, 3.4.1): what comes is
 * called by nobody.
 */
static int clears_callers_rbp(const struct height *h, const struct x86 *i)
{
	return (i->op == 0x31 || i->op == 0x33) && i->mod == 3 && i->reg == X86_RBP &&
	       i->rm == X86_RBP && h->rbp == RBP_CALLERS && !h->saved;
}

/* Whatever else writes to one of the two. Writes to bpl and vectors do not matter. */
static void write_register(struct height *h, const struct x86 *i)
{
	unsigned to = x86_has_modrm(i) || (i->op & 0xf0) == 0xb0 || (i->op & 0xf8) == 0x90
			      ? written(i)
			      : X86_NOWHERE;

	if (clears_callers_rbp(h, i))
		h->rbp = RBP_ROOT;
	else if (to == X86_RBP)
		height_lose_rbp(h);
	else if (to == X86_RSP)
		h->sp = HEIGHT_UNKNOWN;
}

void height_apply(struct height *h, const struct x86 *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;

	if (i->map || i->vex)
		return;
	if ((i->op & 0xf8) == 0x50 || i->op == 0x68 || i->op == 0x6a || i->op == 0x9c ||
	    (i->op == 0xff && (i->reg & 7) == 6))
		push(h, i, reg);
	else if ((i->op & 0xf8) == 0x58)
		pop(h, reg);
	else if (i->op == 0x8f || i->op == 0x9d)
		pop(h, X86_NOWHERE);
	else if (i->op == 0xc9)
		leave(h);
	else if (i->op == 0x8d)
		set_register(h, i->reg, down_of(h, i->rm, i->disp));
	else if (i->op == 0x89 || i->op == 0x8b)
		move(h, i);
	else if (i->op == 0x81 || i->op == 0x83)
		operate(h, i);
	else
		write_register(h, i);
}

static uint16_t exotic(const struct height *h, int by_fp, int32_t down, struct ebp_exotic *x)
{
	*x = (struct ebp_exotic){ .cfa = EBP_CFA_REG,
				  .cfa_reg = by_fp ? RBP_DWARF : RSP_DWARF,
				  .cfa_offset = down,
				  .fp = EBP_AT_CFA,
				  .fp_offset = -h->saved,
				  .ra = EBP_AT_CFA,
				  .ra_offset = -8 };
	return EXOTIC;
}

uint16_t height_rule(const struct height *h, struct ebp_exotic *x)
{
	int by_fp = h->sp == HEIGHT_UNKNOWN;
	int32_t down = by_fp ? h->fp : h->sp, slot = h->saved ? (h->saved - 8) / 8 : 0;

	if (h->rbp == RBP_ROOT)
		return STOP;
	if ((by_fp && h->rbp != RBP_FRAME) || down < 8 || down % 8 || h->saved % 8)
		return GAP;
	if (slot > 7 || down / 8 > (int32_t)EBP_RULE_OFFSET_MASK)
		return h->saved ? exotic(h, by_fp, down, x) : GAP;
	return (uint16_t)(down / 8 | (by_fp ? EBP_RULE_FP_BASE : 0) |
			  (uint32_t)slot << EBP_RULE_SAVED_SHIFT);
}
