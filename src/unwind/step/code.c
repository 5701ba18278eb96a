/* SPDX-License-Identifier: MIT */
#include "unwind/step/code.h"

#include <string.h>

#include "bpf/unwind.h"
#include "unwind/code/x86.h"

#define STEPS_MAX	2000	/* instructions */
#define JUMPS_MAX	8	/* that are followed; then what comes behind one is looked at */
#define NOWHERE		INT64_MIN

/*
 * Where rsp is, by what a register held at the beginning; the caller's rbp, too, once it is back.
 */
struct place {
	int by_fp;		/* by rbp, not rsp */
	int64_t sp;		/* rsp is so much above */
	int64_t saved;		/* rbp's value was there, or NOWHERE */
	int has_copy;		/* rbp was set to what rsp was then: */
	int copy_by_fp;
	int64_t copy;
};

static void from_frame_pointer(struct place *p, int64_t more)
{
	p->sp = (p->has_copy ? p->copy : 0) + more;
	p->by_fp = p->has_copy ? p->copy_by_fp : 1;
}

/* mov %rsp, %rbp, and back; anything else that is done with rsp is not known. Nonzero: so it is. */
static int move(struct place *p, unsigned to, unsigned from)
{
	if (to == X86_RBP && from == X86_RSP) {
		p->has_copy = 1;
		p->copy = p->sp;
		p->copy_by_fp = p->by_fp;
	} else if (to == X86_RSP && from == X86_RBP) {
		from_frame_pointer(p, 0);
	} else {
		return to == X86_RSP;
	}
	return 0;
}

/* add, sub, lea and others that may write rsp. Nonzero: in a way that cannot be followed. */
static int arithmetic(struct place *p, const struct x86 *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;
	int writes = i->mod == 3 && i->rm == X86_RSP && x86_has_modrm(i);

	if (i->op == 0x8d && i->reg == X86_RSP && i->mod != 3) {
		if (i->rm != X86_RSP && i->rm != X86_RBP)
			return -1;
		if (i->rm == X86_RBP)
			from_frame_pointer(p, i->disp);
		else
			p->sp += i->disp;
		return 0;
	}
	if (i->op == 0x89 && i->mod == 3)
		return move(p, i->rm, i->reg);
	if (i->op == 0x8b)
		return i->mod == 3 ? move(p, i->reg, i->rm) : i->reg == X86_RSP;
	if ((i->op == 0x81 || i->op == 0x83) && writes) {
		unsigned which = i->reg & 7;

		if (which != 0 && which != 5 && which != 7)
			return -1;
		p->sp += which == 0 ? i->imm : which == 5 ? -i->imm : 0;
		return 0;
	}
	/* Compared with something, or tested, it may be. */
	if (i->op < 0x40 && (i->op & 7) < 4)
		return i->op < 0x38 && (i->op & 2 ? i->reg == X86_RSP : writes);
	return (writes && i->op >= 0x86 && i->op != 0xff) ||
	       (((i->op & 0xf8) == 0x90 || (i->op & 0xf8) == 0xb8) && reg == X86_RSP);
}

/* What it does to the stack. Nonzero: it cannot be followed. */
static int follow(struct place *p, const struct x86 *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;

	if (i->map)
		return 0;
	if ((i->op & 0xf8) == 0x50 || i->op == 0x68 || i->op == 0x6a || i->op == 0x9c ||
	    (i->op == 0xff && (i->reg & 7) == 6)) {
		p->sp -= 8;
	} else if ((i->op & 0xf8) == 0x58) {
		if (reg == X86_RSP)
			return -1;
		if (reg == X86_RBP) {
			p->saved = p->sp;
			p->has_copy = 0;
		}
		p->sp += 8;
	} else if (i->op == 0x9d || i->op == 0x8f) {
		p->sp += 8;
	} else if (i->op == 0xc9) {
		from_frame_pointer(p, 8);
		p->saved = p->sp - 8;
		p->has_copy = 0;
	} else {
		return arithmetic(p, i);
	}
	return 0;
}

/* At the `ret`: rsp points to the return address. */
static uint16_t rule_of(const struct place *p)
{
	int64_t cfa = p->sp + 8, slot = p->saved == NOWHERE ? 0 : (cfa - 8 - p->saved) / 8;

	if (cfa % 8 || cfa < 8 || cfa / 8 > EBP_RULE_OFFSET_MASK)
		return 0;
	/* What was pushed and popped on the way was no register of the caller. */
	if (!p->by_fp && p->saved < 0)
		slot = 0;
	if (slot < 0 || slot > 7)
		return 0;
	return (uint16_t)(cfa / 8 | (p->by_fp ? EBP_RULE_FP_BASE : 0) |
			  (uint16_t)slot << EBP_RULE_SAVED_SHIFT);
}

uint16_t unwind_code_rule(const uint8_t *code, size_t n, size_t at)
{
	struct place p = { .saved = NOWHERE };
	int jumps = 0;

	for (int steps = 0; steps < STEPS_MAX; steps++) {
		struct x86 i;

		if (at >= n || x86_decode(code, n, at, &i))
			return 0;
		at += i.size;
		if (!i.map && (i.op == 0xc3 || i.op == 0xc2))
			return rule_of(&p);
		if (!i.map && (i.op == 0xeb || i.op == 0xe9)) {
			int64_t to = (int64_t)at + i.imm;

			/* To another function: what is called last, in place of a return. */
			if (to < 0 || to >= (int64_t)n)
				return rule_of(&p);
			if (jumps++ < JUMPS_MAX)
				at = (size_t)to;
			continue;
		}
		if (follow(&p, &i))
			return 0;
	}
	return 0;
}
