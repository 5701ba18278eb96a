/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What probes look at besides stacks: a record of words, the fields of a tracepoint or the operands
 * of a probe; tests of it, and the value that a hit is worth. Compiled natively, too, for tests.
 */
#ifndef EBPROF_PROBE_RECORD_H
#define EBPROF_PROBE_RECORD_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define EBP_RECORD 512		/* bytes, a power of two */
#define EBP_TEXT 64		/* bytes of a text that is compared, a power of two */
#define EBP_TESTS 64		/* of one filter, at most */

/* Which test is next; or that it is over. */
#define EBP_TEST_PASS 0xffff
#define EBP_TEST_FAIL 0xfffe

enum ebp_operand {
	EBP_NUMBER,		/* in the record */
	EBP_TEXT_ARRAY,		/* in the record, at most so long */
	EBP_TEXT_DYNAMIC,	/* its place in the record is there: 16 bits, its length above */
	EBP_COMM,		/* the name of the thread */
	EBP_PID,		/* its id */
	EBP_CPU,
};

enum ebp_compare {
	EBP_EQUAL, EBP_LESS, EBP_LESS_EQUAL, EBP_BITS,	/* numbers; != and > are their opposites */
	EBP_LIKE,		/* texts: a pattern of * and ?, which may have none */
};

struct ebp_test {
	__u8 operand;		/* enum ebp_operand */
	__u8 compare;		/* enum ebp_compare */
	__u8 size;		/* bytes of a number: 1, 2, 4, 8 */
	__u8 is_signed;
	__u16 offset, length;	/* in the record; bytes of a text there */
	__u16 yes, no;		/* the next test */
	__u16 pattern;		/* bytes of @text */
	__u16 reserved;
	__u64 value;
	char text[EBP_TEXT];
};
_Static_assert(sizeof(struct ebp_test) == 88, "wire");

/* Where an operand of a probe is; it becomes a word of the record. */
enum ebp_slot_kind { EBP_SLOT_NONE, EBP_SLOT_CONSTANT, EBP_SLOT_REGISTER, EBP_SLOT_MEMORY };

struct ebp_slot {
	__u8 kind;		/* enum ebp_slot_kind */
	__u8 size;		/* bytes, 1 to 8 */
	__u8 is_signed;
	__u8 reg;		/* by DWARF's number */
	__u32 reserved;
	__s64 offset;		/* of the memory from the register; or the constant */
};

#define EBP_SLOTS 8

struct ebp_place {
	__u16 test;		/* the first of the filter's; EBP_TEST_PASS: none */
	__u16 value_offset;	/* of what a hit is worth in the record */
	__u8 value_size;	/* bytes; 0: nothing */
	__u8 value_signed;
	__u8 slots;		/* of operands, which make the record */
	__u8 by_signed;
	__u16 record;		/* bytes that are taken of a tracepoint's; below EBP_RECORD */
	/* of the number by which hits are told apart; bytes 0: by none */
	__u16 by_offset, by_size;
	__u16 reserved;
	struct ebp_slot slot[EBP_SLOTS];
};
_Static_assert(sizeof(struct ebp_place) == 144, "wire");

/* A number of @size bytes that the lower ones of @word are. */
static inline __attribute__((always_inline)) __u64 probe_number(__u64 word, __u32 size,
								 int is_signed)
{
	__u32 unused = size >= 8 ? 0 : 64 - 8 * size;

	word <<= unused & 63;
	return is_signed ? (__u64)((__s64)word >> (unused & 63)) : word >> (unused & 63);
}

/* The number at @offset; what leaves the record is 0. */
static inline __attribute__((always_inline)) __u64 probe_field(const __u8 *record, __u32 offset,
								__u32 size, int is_signed)
{
	__u64 word = 0;

	if (offset > EBP_RECORD - 8)
		return 0;
	for (__u32 i = 0; i < 8; i++)
		word |= (__u64)record[(offset + i) & (EBP_RECORD - 1)] << 8 * i;
	return probe_number(word, size, is_signed);
}

static inline __attribute__((always_inline)) int probe_compare(const struct ebp_test *t, __u64 x)
{
	switch (t->compare) {
	case EBP_EQUAL:
		return x == t->value;
	case EBP_LESS:
		return t->is_signed ? (__s64)x < (__s64)t->value : x < t->value;
	case EBP_LESS_EQUAL:
		return t->is_signed ? (__s64)x <= (__s64)t->value : x <= t->value;
	}
	return (x & t->value) != 0;
}

/* Where a comparison with a pattern is; begins by probe_like_begin(). */
struct ebp_like {
	__u32 pattern, text;	/* the next byte of each */
	__u32 star, mark;	/* behind the last *, and where it began in the text */
};

enum ebp_like_result { EBP_LIKE_ON, EBP_LIKE_YES, EBP_LIKE_NO };

#define EBP_LIKE_STEPS 256	/* at most: then it is not like it */

static inline __attribute__((always_inline)) void probe_like_begin(struct ebp_like *at)
{
	at->pattern = at->text = at->mark = 0;
	at->star = EBP_TEXT;
}

/*
 * One step of whether the @length bytes of @text, or those up to a zero, are like the pattern; both
 * have EBP_TEXT bytes of room. Returns an enum ebp_like_result.
 */
static inline __attribute__((always_inline)) __u32 probe_like_step(struct ebp_like *at,
								    const char *pattern,
								    __u32 patterned,
								    const char *text, __u32 length)
{
	__u32 p = at->pattern, s = at->text;
	char c = s < length ? text[s & (EBP_TEXT - 1)] : 0;
	char w = p < patterned ? pattern[p & (EBP_TEXT - 1)] : 0;

	if (w == '*') {
		at->pattern = at->star = p + 1;
		at->mark = s;
	} else if (!c && !w) {
		return EBP_LIKE_YES;
	} else if (c && w && (w == '?' || w == c)) {
		at->pattern = p + 1;
		at->text = s + 1;
	} else if (!c || at->star == EBP_TEXT) {
		return EBP_LIKE_NO;
	} else {
		at->pattern = at->star;
		at->text = ++at->mark;
	}
	return EBP_LIKE_ON;
}

#ifndef __bpf__
/* All steps, as the program makes them. */
static inline int probe_like(const char *pattern, __u32 patterned, const char *text, __u32 length)
{
	__u32 result = EBP_LIKE_ON;
	struct ebp_like at;

	probe_like_begin(&at);
	for (int i = 0; i < EBP_LIKE_STEPS && result == EBP_LIKE_ON; i++)
		result = probe_like_step(&at, pattern, patterned, text, length);
	return result == EBP_LIKE_YES;
}
#endif

#endif
