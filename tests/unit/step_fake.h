/* SPDX-License-Identifier: MIT */
/*
 * For the tests of the unwinding step: a process with tables, code and a stack
 * made by hand. Its includer has chosen the architecture (UNWIND_X86,
 * UNWIND_ARM64) and included the step itself: both are tested on any machine.
 */
#ifndef EBPROF_STEP_FAKE_H
#define EBPROF_STEP_FAKE_H

#include <stdint.h>

/* where the image's code is mapped; the file's offset 0 is there, too */
#define CODE	0x400000u
#define STACK	0x7fff0000u
#define WORDS	600
#define IMAGE	5
#define OBJECT	4		/* refs, in units of 16 bytes */
#define DIR	8
#define EXOTIC	16
#define BLOCK	64
#define SPECIAL(x) (EBP_RULE_SPECIAL | (x))
#define SAVED(n) ((n) << EBP_RULE_SAVED_SHIFT)

static uint8_t shard[EBP_SHARD_BYTES + EBP_SHARD_SLACK];
static uint8_t *shards[1] = { shard };
static uint64_t stack[WORDS];
static uint64_t stack_end;	/* what is beyond cannot be read */
static uint8_t code[64];
static uint64_t code_at;	/* its address, or 0: it is at whatever address */
static struct ebp_mapping rows[3];
static struct unwind_memory memory;
static struct ebp_registers regs;
static struct unwind_result result;

static int read_memory(void *ctx, uint64_t address, void *dst, size_t size)
{
	(void)ctx;
	if (address >= STACK && address + size <= stack_end) {
		memcpy(dst, (char *)stack + (address - STACK), size);
		return 0;
	}
	if (address >= CODE && address < CODE + 0x100000 && (!code_at || address >= code_at)) {
		uint64_t from = code_at ? address - code_at : 0;

		if (from >= sizeof(code))
			return -1;
		memcpy(dst, code + from, size < sizeof(code) - from ? size : sizeof(code) - from);
		return 0;
	}
	return -1;
}

static void put(uint32_t ref, const void *bytes, size_t size)
{
	memcpy(shard + ((size_t)ref << EBP_REF_SHIFT), bytes, size);
}

/* One page: @at[i] is where @rule[i] begins. */
static void make_block(const uint16_t *at, const uint16_t *rule, uint16_t n, uint16_t before)
{
	struct ebp_block b = { .nrows = n, .ndict = n, .before = before };
	uint8_t *p = shard + (BLOCK << EBP_REF_SHIFT);

	for (unsigned bucket = 0; bucket <= EBP_BUCKETS; bucket++)
		while (b.first[bucket] < n && at[b.first[bucket]] < bucket << EBP_BUCKET_SHIFT)
			b.first[bucket]++;
	memcpy(p, &b, sizeof(b));
	memcpy(p + sizeof(b), rule, 2u * n);
	for (unsigned i = 0; i < n; i++) {
		p[sizeof(b) + 2u * n + i] = (uint8_t)at[i];
		p[sizeof(b) + 2u * n + n + i] = (uint8_t)i;
	}
}

/*
 * A process with one image of one page, @rule all over it, but for the root, whose code is from
 * 0x8000 on.
 */
static void set_up(uint16_t rule)
{
	const uint16_t at[] = { 0x10, 0x8000 }, rules[] = { rule, SPECIAL(EBP_RULE_STOP) };
	struct ebp_object o = { .dir = DIR, .npages = 1, .exotic = EXOTIC };
	uint32_t dir = BLOCK;

	memset(shard, 0, sizeof(shard));
	memset(stack, 0, sizeof(stack));
	memset(code, 0x90, sizeof(code));
	code_at = 0;
	memset(&regs, 0, sizeof(regs));
	stack_end = STACK + sizeof(stack);
	put(OBJECT, &o, sizeof(o));
	put(DIR, &dir, sizeof(dir));
	make_block(at, rules, 2, SPECIAL(EBP_RULE_GAP));
	rows[0] = (struct ebp_mapping){ CODE, CODE + EBP_PAGE_BYTES, CODE, OBJECT, IMAGE };
	memory = (struct unwind_memory){
		.shards = shards, .nshards = 1, .rows = rows, .nrows = 1, .read = read_memory
	};
	regs.r[REG_PC] = CODE + 0x20;
	regs.r[REG_SP] = STACK;
}

/* The object's only exotic rule. */
static inline void set_exotic(struct ebp_exotic x)
{
	struct ebp_object o = { .dir = DIR, .npages = 1, .exotic = EXOTIC, .nexotic = 1 };

	put(OBJECT, &o, sizeof(o));
	put(EXOTIC, &x, sizeof(x));
}

static enum ebp_result unwind(void)
{
	unwind_stack(&memory, &regs, 1, EBP_FRAMES_MAX, &result);
	return result.result;
}

#define ROOT (CODE + 0x8001)	/* a return address into it */

/* Leaf, @n frames of the image by return address, and the root. */
static inline int is_chain(unsigned callers)
{
	if (result.n != callers + 2 || result.frames[0] != EBP_FRAME(IMAGE, regs.r[REG_PC] - CODE))
		return 0;
	return result.frames[result.n - 1] == EBP_FRAME(IMAGE, 0x8000);
}

#endif
