/* SPDX-License-Identifier: MIT */
#include "unwind/code/x86.h"

#include <string.h>

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

int x86_has_modrm(const struct x86 *i)
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
static size_t immediate(const struct x86 *i, int wide)
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

static void take_modrm(struct cursor *c, struct x86 *i)
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
		i->rm = (base >> 3 & 7) == 4 && !(i->rex & 2) ? (base & 7) | (i->rex & 1) << 3
							      : X86_NOWHERE;
		base &= 7;
	}
	if (!i->mod && base == 5)
		i->rm = low == 5 ? X86_RIP : X86_NOWHERE;
	if (i->mod == 1)
		i->disp = take_signed(c, 1);
	else if (i->mod == 2 || base == 5)
		i->disp = take_signed(c, 4);
}

/*
 * The opcode behind all prefixes; with those of AVX it has no REX of its own, and a ModRM byte
 * mostly.
 */
static int take_opcode(struct cursor *c, struct x86 *i, int *wide)
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

int x86_decode(const uint8_t *code, size_t n, size_t at, struct x86 *i)
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
	if (x86_has_modrm(i))
		take_modrm(&c, i);
	size = immediate(i, wide);
	if (size)
		i->imm = take_signed(&c, size);
	i->size = c.at - at;
	return c.bad;
}
