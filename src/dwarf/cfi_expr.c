/* SPDX-License-Identifier: MIT */
/* DWARF expressions as they occur in rules (DWARF 5, 2.5, 6.4.2, 7.7.1). */
#include <errno.h>

#include "dwarf/cfi.h"
#include "dwarf/cfi_internal.h"

#define MAX_STEPS	1000	/* DW_OP_skip may go back: the only loops */
#define MAX_DEPTH	64	/* in real expressions: 4 */

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_DUP = 0x12,
	OP_DROP,
	OP_OVER,
	OP_PICK,
	OP_SWAP,
	OP_ROT,
	OP_ABS = 0x19,
	OP_AND,
	OP_DIV,
	OP_MINUS,
	OP_MOD,
	OP_MUL,
	OP_NEG,
	OP_NOT,
	OP_OR,
	OP_PLUS,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_SHR,
	OP_SHRA,
	OP_XOR,
	OP_BRA = 0x28,
	OP_EQ,
	OP_GE,
	OP_GT,
	OP_LE,
	OP_LT,
	OP_NE,
	OP_SKIP,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct evaluation {
	struct cursor c;
	const uint8_t *begin;
	const struct cfi_registers *regs;
	cfi_read *read;
	void *ctx;
	unsigned depth;
	uint64_t stack[MAX_DEPTH];
};

static int push(struct evaluation *e, uint64_t v)
{
	if (e->depth == MAX_DEPTH)
		return -EBADMSG;
	e->stack[e->depth++] = v;
	return 0;
}

static int push_register(struct evaluation *e, uint64_t reg)
{
	int64_t offset = cursor_sleb(&e->c);

	if (reg >= CFI_REGS || !(e->regs->known >> reg & 1))
		return -ENODATA;
	return push(e, e->regs->r[reg] + (uint64_t)offset);
}

/* The constants: each pushes one number. */
static int push_constant(struct evaluation *e, uint8_t op)
{
	struct cursor *c = &e->c;

	switch (op) {
	case OP_ADDR:
	case OP_CONST8U:
	case OP_CONST8S:
		return push(e, cursor_fixed(c, 8));
	case OP_CONST1U:
		return push(e, cursor_fixed(c, 1));
	case OP_CONST1S:
		return push(e, (uint64_t)(int8_t)cursor_fixed(c, 1));
	case OP_CONST2U:
		return push(e, cursor_fixed(c, 2));
	case OP_CONST2S:
		return push(e, (uint64_t)(int16_t)cursor_fixed(c, 2));
	case OP_CONST4U:
		return push(e, cursor_fixed(c, 4));
	case OP_CONST4S:
		return push(e, (uint64_t)(int32_t)cursor_fixed(c, 4));
	case OP_CONSTU:
		return push(e, cursor_uleb(c));
	case OP_CONSTS:
		return push(e, (uint64_t)cursor_sleb(c));
	default:
		return -EBADMSG;
	}
}

/* Pushes what is @below the top: 0 is the top. */
static int push_copy(struct evaluation *e, uint64_t below)
{
	return below < e->depth ? push(e, e->stack[e->depth - 1 - below]) : -EBADMSG;
}

/* Moves the top below the @n - 1 entries under it. */
static int rotate(struct evaluation *e, unsigned n)
{
	uint64_t *low, v;

	if (e->depth < n)
		return -EBADMSG;
	low = e->stack + (e->depth - n);
	v = low[n - 1];
	memmove(low + 1, low, (n - 1) * sizeof(*low));
	*low = v;
	return 0;
}

/* The operations that replace the top. */
static int unary(struct evaluation *e, uint8_t op)
{
	unsigned size = 8;
	uint64_t *top;

	if (!e->depth)
		return -EBADMSG;
	top = &e->stack[e->depth - 1];
	switch (op) {
	case OP_ABS:
		*top = (int64_t)*top < 0 ? -*top : *top;
		return 0;
	case OP_NEG:
		*top = -*top;
		return 0;
	case OP_NOT:
		*top = ~*top;
		return 0;
	case OP_PLUS_UCONST:
		*top += cursor_uleb(&e->c);
		return 0;
	case OP_DEREF_SIZE:
		size = (unsigned)cursor_fixed(&e->c, 1);
		if (size != 1 && size != 2 && size != 4 && size != 8)
			return -EBADMSG;
		break;
	}
	return e->read(e->ctx, *top, (int)size, top);
}

/*
 * The operations that replace the two at the top. Division and comparisons are signed, the modulus
 * is not (2.5.1.4).
 */
static int binary(struct evaluation *e, uint8_t op)
{
	uint64_t a, b, *out;

	if (e->depth < 2)
		return -EBADMSG;
	b = e->stack[--e->depth];
	out = &e->stack[e->depth - 1];
	a = *out;
	switch (op) {
	case OP_AND:	*out = a & b; break;
	case OP_OR:	*out = a | b; break;
	case OP_XOR:	*out = a ^ b; break;
	case OP_PLUS:	*out = a + b; break;
	case OP_MINUS:	*out = a - b; break;
	case OP_MUL:	*out = a * b; break;
	case OP_SHL:	*out = b < 64 ? a << b : 0; break;
	case OP_SHR:	*out = b < 64 ? a >> b : 0; break;
	case OP_SHRA:	*out = (uint64_t)((int64_t)a >> (b < 64 ? b : 63)); break;
	case OP_EQ:	*out = a == b; break;
	case OP_NE:	*out = a != b; break;
	case OP_GE:	*out = (int64_t)a >= (int64_t)b; break;
	case OP_GT:	*out = (int64_t)a > (int64_t)b; break;
	case OP_LE:	*out = (int64_t)a <= (int64_t)b; break;
	case OP_LT:	*out = (int64_t)a < (int64_t)b; break;
	case OP_MOD:
		if (!b)
			return -EBADMSG;
		*out = a % b;
		break;
	case OP_DIV:
		if (!b)
			return -EBADMSG;
		/* By -1: the smallest number would overflow. */
		*out = b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
		break;
	}
	return 0;
}

/* To an operation of this expression, or its end. */
static int jump(struct evaluation *e, int taken)
{
	int16_t distance = (int16_t)cursor_fixed(&e->c, 2);

	if (!taken)
		return 0;
	if (distance < e->begin - e->c.p || distance > e->c.end - e->c.p)
		return -EBADMSG;
	e->c.p += distance;
	return 0;
}

static int step(struct evaluation *e, uint8_t op)
{
	if (op >= OP_LIT0 && op <= OP_LIT31)
		return push(e, op - OP_LIT0);
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_register(e, op - OP_BREG0);
	switch (op) {
	case OP_BREGX:
		return push_register(e, cursor_uleb(&e->c));
	case OP_DUP:
		return push_copy(e, 0);
	case OP_OVER:
		return push_copy(e, 1);
	case OP_PICK:
		return push_copy(e, cursor_fixed(&e->c, 1));
	case OP_DROP:
		return e->depth ? (e->depth--, 0) : -EBADMSG;
	case OP_SWAP:
		return rotate(e, 2);
	case OP_ROT:
		return rotate(e, 3);
	case OP_ABS:
	case OP_NEG:
	case OP_NOT:
	case OP_PLUS_UCONST:
	case OP_DEREF:
	case OP_DEREF_SIZE:
		return unary(e, op);
	case OP_AND: case OP_DIV: case OP_MINUS: case OP_MOD: case OP_MUL: case OP_OR: case OP_PLUS:
	case OP_SHL: case OP_SHR: case OP_SHRA: case OP_XOR:
	case OP_EQ: case OP_GE: case OP_GT: case OP_LE: case OP_LT: case OP_NE:
		return binary(e, op);
	case OP_SKIP:
		return jump(e, 1);
	case OP_BRA:
		return e->depth ? jump(e, e->stack[--e->depth] != 0) : -EBADMSG;
	case OP_NOP:
		return 0;
	default:
		return push_constant(e, op);
	}
}

int cfi_evaluate(const struct cfi_value *v, const struct cfi_registers *regs, const uint64_t *cfa,
		 cfi_read *read, void *ctx, uint64_t *out)
{
	struct evaluation e = { .begin = v->expression, .regs = regs, .read = read, .ctx = ctx };
	int err = cfa ? push(&e, *cfa) : 0;

	e.c = (struct cursor){ v->expression, v->expression + v->size, 0 };
	for (unsigned steps = 0; !err && e.c.p < e.c.end; steps++) {
		if (steps == MAX_STEPS)
			return -EBADMSG;
		err = step(&e, *e.c.p++);
		if (e.c.bad)
			return -EBADMSG;
	}
	if (err || !e.depth)
		return err ? err : -EBADMSG;
	*out = e.stack[e.depth - 1];
	return 0;
}
