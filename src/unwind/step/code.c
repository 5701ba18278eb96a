/* SPDX-License-Identifier: MIT */
/*
 * Intel 64 Architectures Software Developer's Manual, volume 2: chapter 2, and the opcode maps of
 * appendix A.
 */
#include "unwind/step/code.h"

#include <string.h>

#include "bpf/unwind.h"

#define STEPS_MAX	2000	/* instructions */
#define JUMPS_MAX	8	/* that are followed; then what comes behind one is looked at */
#define NOWHERE		INT64_MIN

enum { RAX, RSP = 4, RBP };

struct instruction {
	size_t size;
	unsigned rex, op, map;	/* map: 0 one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	unsigned vex;
	unsigned mod, reg, rm;	/* where there is a ModRM byte, with REX's bits */
	int64_t disp, imm;
};

/* Of the bytes at hand. */
struct cursor {
	const uint8_t *p;
	size_t n, at;
	int bad;		/* they ended */
};

static uint64_t take(struct cursor *c, size_t size)
{
	uint64_t x = 0;

	if (size > c->n - c->at) {
		c->bad = 1;
		return 0;
	}
	memcpy(&x, c->p + c->at, size);
	c->at += size;
	return x;
}

static int64_t take_signed(struct cursor *c, size_t size)
{
	uint64_t x = take(c, size), top = 1ull << (8 * size - 1);

	return (int64_t)((x ^ top) - top);
}

/* Whether an opcode is one of [first, last] pairs. */
static int in(const uint8_t (*ranges)[2], size_t n, unsigned op)
{
	for (size_t i = 0; i < n; i++)
		if (op >= ranges[i][0] && op <= ranges[i][1])
			return 1;
	return 0;
}
#define IN(ranges, op) in(ranges, sizeof(ranges) / sizeof(*(ranges)), op)

static int has_modrm(const struct instruction *i)
{
	static const uint8_t one[][2] = {
		{ 0x63, 0x63 }, { 0x69, 0x69 }, { 0x6b, 0x6b }, { 0x80, 0x8f }, { 0xc0, 0xc1 },
		{ 0xc6, 0xc7 }, { 0xd0, 0xd3 }, { 0xd8, 0xdf }, { 0xf6, 0xf7 }, { 0xfe, 0xff },
	};
	static const uint8_t two_without[][2] = {
		{ 0x05, 0x09 }, { 0x0b, 0x0b }, { 0x0e, 0x0e }, { 0x30, 0x37 }, { 0x77, 0x77 },
		{ 0x80, 0x8f }, { 0xa0, 0xa2 }, { 0xa8, 0xaa }, { 0xc8, 0xcf },
	};

	if (i->map == 1)
		return !IN(two_without, i->op);
	return i->map || (i->op < 0x40 && (i->op & 7) < 4) || IN(one, i->op);
}

/* Bytes of the immediate operand. @wide: with a prefix of 2 bytes instead of 4. */
static size_t immediate(const struct instruction *i, int wide)
{
	static const uint8_t byte[][2] = {
		{ 0x6a, 0x6b }, { 0x70, 0x80 }, { 0x83, 0x83 }, { 0xa8, 0xa8 }, { 0xb0, 0xb7 },
		{ 0xc0, 0xc1 }, { 0xc6, 0xc6 }, { 0xcd, 0xcd }, { 0xe0, 0xe7 }, { 0xeb, 0xeb },
	};
	static const uint8_t word[][2] = {
		{ 0x68, 0x69 }, { 0x81, 0x81 }, { 0xa9, 0xa9 }, { 0xb8, 0xbf }, { 0xc7, 0xc7 }
	};
	static const uint8_t two[][2] = {
		{ 0x70, 0x73 }, { 0xa4, 0xa4 }, { 0xac, 0xac },
		{ 0xba, 0xba }, { 0xc2, 0xc2 }, { 0xc4, 0xc6 },
	};
	unsigned low = i->op & 7;

	if (i->map == 1 && !i->vex && i->op >= 0x80 && i->op <= 0x8f)
		return 4;
	if (i->map)
		return i->map == 3 || (i->map == 1 && IN(two, i->op));
	if (i->op == 0xe8 || i->op == 0xe9)
		return 4;
	if (i->op == 0xc2)
		return 2;
	if ((i->op & 0xf8) == 0xb8 && i->rex & 8)
		return 8;
	if (i->op < 0x40 && low > 3)
		return low == 4 ? 1 : wide ? 2 : 4;
	if (i->op == 0xf6 && (i->reg & 7) < 2)
		return 1;
	if (IN(word, i->op) || (i->op == 0xf7 && (i->reg & 7) < 2))
		return wide ? 2 : 4;
	return IN(byte, i->op);
}

static void take_modrm(struct cursor *c, struct instruction *i)
{
	unsigned b = (unsigned)take(c, 1), low = b & 7, base = low;

	i->mod = b >> 6;
	i->reg = (b >> 3 & 7) | (i->rex & 4) << 1;
	i->rm = low | (i->rex & 1) << 3;
	if (i->mod == 3)
		return;
	if (low == 4) {
		base = (unsigned)take(c, 1);
		/* With an index it is no address that we understand. */
		i->rm = (base >> 3 & 7) == 4 && !(i->rex & 2) ? (base & 7) | (i->rex & 1) << 3 : 16;
		base &= 7;
	}
	if (i->mod == 1)
		i->disp = take_signed(c, 1);
	else if (i->mod == 2 || base == 5)
		i->disp = take_signed(c, 4);
}

/*
 * The opcode behind all prefixes; with those of AVX it has no REX of its own, and a ModRM byte
 * mostly.
 */
static int take_opcode(struct cursor *c, struct instruction *i, int *wide)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	unsigned b = (unsigned)take(c, 1);

	while (!c->bad && memchr(prefixes, (int)b, sizeof(prefixes))) {
		*wide |= b == 0x66;
		b = (unsigned)take(c, 1);
	}
	if ((b & 0xf0) == 0x40) {
		i->rex = b & 15;
		b = (unsigned)take(c, 1);
	}
	if (b == 0xc5 || b == 0xc4 || b == 0x62) {
		i->vex = 1;
		i->map = b == 0xc5 ? 1 : (unsigned)take(c, 1) & 7;
		take(c, b == 0xc4 || b == 0xc5 ? 1 : 2);
		i->op = (unsigned)take(c, 1);
		return c->bad || !i->map || i->map > 3;
	}
	if (b == 0x0f) {
		b = (unsigned)take(c, 1);
		i->map = b == 0x38 ? 2 : b == 0x3a ? 3 : 1;
		if (i->map > 1)
			b = (unsigned)take(c, 1);
	}
	i->op = b;
	return c->bad;
}

/*
 * The instruction at @at. Nonzero where it is none, or one that has no place in what is followed.
 */
static int decode(const uint8_t *code, size_t n, size_t at, struct instruction *i)
{
	static const uint8_t none[][2] = {
		{ 0x06, 0x07 }, { 0x16, 0x17 }, { 0x27, 0x27 }, { 0x37, 0x37 }, { 0x60, 0x61 },
		{ 0x82, 0x82 }, { 0x9a, 0x9a }, { 0xa0, 0xa3 }, { 0xc8, 0xc8 }, { 0xca, 0xce },
		{ 0xd4, 0xd6 }, { 0xea, 0xea }, { 0xf1, 0xf1 }, { 0xf4, 0xf4 },
	};
	struct cursor c = { code, n, at, 0 };
	size_t size;
	int wide = 0;

	memset(i, 0, sizeof(*i));
	if (take_opcode(&c, i, &wide) || (!i->map && IN(none, i->op)) ||
	    (i->map == 1 && i->op == 0x0b))
		return -1;
	if (has_modrm(i))
		take_modrm(&c, i);
	size = immediate(i, wide);
	if (size)
		i->imm = take_signed(&c, size);
	i->size = c.at - at;
	return c.bad;
}

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
	if (to == RBP && from == RSP) {
		p->has_copy = 1;
		p->copy = p->sp;
		p->copy_by_fp = p->by_fp;
	} else if (to == RSP && from == RBP) {
		from_frame_pointer(p, 0);
	} else {
		return to == RSP;
	}
	return 0;
}

/* add, sub, lea and others that may write rsp. Nonzero: in a way that cannot be followed. */
static int arithmetic(struct place *p, const struct instruction *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;
	int writes = i->mod == 3 && i->rm == RSP && has_modrm(i);

	if (i->op == 0x8d && i->reg == RSP && i->mod != 3) {
		if (i->rm != RSP && i->rm != RBP)
			return -1;
		if (i->rm == RBP)
			from_frame_pointer(p, i->disp);
		else
			p->sp += i->disp;
		return 0;
	}
	if (i->op == 0x89 && i->mod == 3)
		return move(p, i->rm, i->reg);
	if (i->op == 0x8b)
		return i->mod == 3 ? move(p, i->reg, i->rm) : i->reg == RSP;
	if ((i->op == 0x81 || i->op == 0x83) && writes) {
		unsigned which = i->reg & 7;

		if (which != 0 && which != 5 && which != 7)
			return -1;
		p->sp += which == 0 ? i->imm : which == 5 ? -i->imm : 0;
		return 0;
	}
	/* Compared with something, or tested, it may be. */
	if (i->op < 0x40 && (i->op & 7) < 4)
		return i->op < 0x38 && (i->op & 2 ? i->reg == RSP : writes);
	return (writes && i->op >= 0x86 && i->op != 0xff) ||
	       ((i->op & 0xf8) == 0x90 && reg == RSP) || ((i->op & 0xf8) == 0xb8 && reg == RSP);
}

/* What it does to the stack. Nonzero: it cannot be followed. */
static int follow(struct place *p, const struct instruction *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;

	if (i->map)
		return 0;
	if ((i->op & 0xf8) == 0x50 || i->op == 0x68 || i->op == 0x6a || i->op == 0x9c ||
	    (i->op == 0xff && (i->reg & 7) == 6)) {
		p->sp -= 8;
	} else if ((i->op & 0xf8) == 0x58) {
		if (reg == RSP)
			return -1;
		if (reg == RBP) {
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
		struct instruction i;

		if (at >= n || decode(code, n, at, &i))
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
