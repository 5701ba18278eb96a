/* SPDX-License-Identifier: MIT */
/*
 * Instructions of x86-64: how long they are, and their operands. Intel 64 Architectures Software
 * Developer's Manual, volume 2: chapter 2, and the opcode maps of appendix A.
 */
#ifndef EBPROF_UNWIND_CODE_X86_H
#define EBPROF_UNWIND_CODE_X86_H

#include <stddef.h>
#include <stdint.h>

enum { X86_RAX, X86_RSP = 4, X86_RBP };
#define X86_NOWHERE	16	/* as a base: with an index, or none */
#define X86_RIP		17

struct x86 {
	size_t size;
	unsigned rex, op, map;	/* map: 0 one byte, 1: 0f, 2: 0f 38, 3: 0f 3a */
	unsigned vex;
	unsigned mod, reg, rm;	/* where there is a ModRM byte, with REX's bits; rm: the base */
	int64_t disp, imm;
};

/*
 * The instruction at @code + @at, of @n bytes. Nonzero where it is none, or one that no compiler
 * makes.
 */
int x86_decode(const uint8_t *code, size_t n, size_t at, struct x86 *i);
int x86_has_modrm(const struct x86 *i);

/* Where @i, a jump at @at, leads: an offset, as @at is. */
static inline int64_t x86_target(const struct x86 *i, size_t at)
{
	return (int64_t)((uint64_t)at + i->size + (uint64_t)i->imm);
}

#endif
