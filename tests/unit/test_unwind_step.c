/* SPDX-License-Identifier: MIT */
/* The unwinding step over tables and stacks made by hand: one test for each kind of rule and of end. */
#include "test.h"

#include <stdint.h>

#include "unwind/unwind_step.h"

#ifdef __x86_64__

#define CODE	0x400000u	/* where the image's code is mapped; the file's offset 0 is there, too */
#define STACK	0x7fff0000u
#define WORDS	600
#define RSP	7
#define RBP	6
#define RIP	16
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
static uint8_t code[64];	/* of whatever address */
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
	if (address >= CODE && address < CODE + 0x100000) {
		memcpy(dst, code, size < sizeof(code) ? size : sizeof(code));
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

/* A process with one image of one page, @rule all over it, but for the root, whose code is from 0x8000 on. */
static void begin(uint16_t rule)
{
	const uint16_t at[] = { 0x10, 0x8000 }, rules[] = { rule, SPECIAL(EBP_RULE_STOP) };
	struct ebp_object o = { .dir = DIR, .npages = 1, .exotic = EXOTIC };
	uint32_t dir = BLOCK;

	memset(shard, 0, sizeof(shard));
	memset(stack, 0, sizeof(stack));
	memset(code, 0x90, sizeof(code));
	memset(&regs, 0, sizeof(regs));
	stack_end = STACK + sizeof(stack);
	put(OBJECT, &o, sizeof(o));
	put(DIR, &dir, sizeof(dir));
	make_block(at, rules, 2, SPECIAL(EBP_RULE_GAP));
	rows[0] = (struct ebp_mapping){ CODE, CODE + EBP_PAGE_BYTES, CODE, OBJECT, IMAGE };
	memory = (struct unwind_memory){ shards, 1, rows, 1, read_memory, NULL };
	regs.r[RIP] = CODE + 0x20;
	regs.r[RSP] = STACK;
}

static void set_exotic(struct ebp_exotic x)
{
	struct ebp_object o = { .dir = DIR, .npages = 1, .exotic = EXOTIC, .nexotic = 1 };

	put(OBJECT, &o, sizeof(o));
	put(EXOTIC, &x, sizeof(x));
}

static enum ebp_result unwind(void)
{
	unwind_stack(&memory, &regs, EBP_FRAMES_MAX, &result);
	return result.result;
}

#define ROOT (CODE + 0x8001)	/* a return address into it */

/* Leaf, @n frames of the image by return address, and the root. */
static int is_chain(unsigned callers)
{
	if (result.n != callers + 2 || result.frames[0] != EBP_FRAME(IMAGE, regs.r[RIP] - CODE))
		return 0;
	return result.frames[result.n - 1] == EBP_FRAME(IMAGE, 0x8000);
}

TEST(by_stack_pointer)
{
	begin(2);
	stack[1] = CODE + 0x31;
	stack[3] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0x30));
	CHECK_EQ(result.fp_frames, 0);
}

/* rbp is found in each slot, and then leads on. */
TEST(every_slot_of_the_frame_pointer)
{
	for (unsigned saved = 1; saved <= 7; saved++) {
		const uint16_t at[] = { 0x10, 0x4000, 0x8000 };
		const uint16_t rules[] = { 9 | SAVED(saved), EBP_RULE_FP_BASE | 2, SPECIAL(EBP_RULE_STOP) };

		begin(0);
		make_block(at, rules, 3, SPECIAL(EBP_RULE_GAP));
		stack[8] = CODE + 0x4001;
		stack[8 - saved] = STACK + 400;	/* saved rbp: the caller's CFA is 16 above */
		stack[51] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
	}
}

TEST(borders_of_buckets)
{
	const uint16_t at[] = { 0xff, 0x100, 0x1ff, 0x200, 0xff00, 0xffff }, last[] = { 1, 2, 3, 4, 5, 6 };
	static const struct { uint16_t pc, words; } cases[] = {
		{ 0xfe, 7 }, { 0xff, 1 }, { 0x100, 2 }, { 0x101, 2 }, { 0x1fe, 2 }, { 0x1ff, 3 }, { 0x200, 4 }, { 0x2ff, 4 },
		{ 0x300, 4 }, { 0xfeff, 4 }, { 0xff00, 5 }, { 0xfffe, 5 }, { 0xffff, 6 }, { 0, 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(0);
		make_block(at, last, 6, 7);
		regs.r[RIP] = CODE + cases[i].pc;
		/* Only the right slot leads out of our code; the root is behind the mapping. */
		for (unsigned w = 1; w <= 7; w++)
			stack[w - 1] = w == cases[i].words ? 0x10000 : 0x20000;
		CHECK_EQ(unwind(), EBP_NO_MAPPING);
		CHECK_EQ(result.n, 2);
		CHECK_EQ(result.frames[1], 0xffff);
	}
}

/* 256 rows in one bucket, one for each byte. */
TEST(full_bucket)
{
	uint16_t at[256], rules[256];

	for (unsigned i = 0; i < 256; i++) {
		at[i] = (uint16_t)(0x300 + i);
		rules[i] = (uint16_t)(i + 1);
	}
	for (unsigned i = 0; i < 256; i++) {
		begin(0);
		make_block(at, rules, 256, 0);
		regs.r[RIP] = CODE + 0x300 + i;
		stack[i] = 0x10000;
		CHECK_EQ(unwind(), EBP_NO_MAPPING);
		CHECK_EQ(result.frames[1], 0xffff);
	}
}

TEST(plt_entries)
{
	for (unsigned pc = 0; pc < 16; pc++)
		for (unsigned least = 10; least <= 11; least++) {
			begin(SPECIAL(least == 10 ? EBP_RULE_PLT10 : EBP_RULE_PLT11));
			regs.r[RIP] = CODE + 0x40 + pc;
			stack[pc >= least] = ROOT;
			CHECK_EQ(unwind(), EBP_COMPLETE);
			CHECK(is_chain(0));
		}
}

TEST(gap_by_the_leafs_bytes)
{
	static const struct { uint8_t bytes[4]; unsigned word; } cases[] = {
		{ { 0x55 }, 0 }, { { 0xc3 }, 0 }, { { 0xf3, 0xc3 }, 0 }, { { 0xf3, 0x0f, 0x1e, 0xfa }, 0 },
		{ { 0x48, 0x89, 0xe5 }, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(SPECIAL(EBP_RULE_GAP));
		memcpy(code, cases[i].bytes, 4);
		stack[cases[i].word] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(0));
		CHECK_EQ(result.fp_frames, 0);
	}
}

TEST(gap_by_frame_pointer)
{
	begin(SPECIAL(EBP_RULE_GAP));
	regs.r[RBP] = STACK + 80;
	stack[10] = STACK + 800;
	stack[11] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
	CHECK_EQ(result.fp_frames, 1);
	/* It leads nowhere: below the stack pointer too often, to memory that is none, or it is not there. */
	regs.r[RBP] = 0x1000;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[RBP] = STACK + 81;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[RBP] = 0;
	CHECK_EQ(unwind(), EBP_NO_CFI);
}

/* Code that has no CFI at all ends its stacks with a frame pointer of 0. */
TEST(the_end_of_frame_pointers)
{
	begin(0);
	rows[0].object = EBP_OBJECT_NONE;
	rows[0].image = EBP_IMAGE_NONE;
	regs.r[RBP] = STACK + 80;
	stack[10] = 0;
	stack[11] = CODE + 0x51;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 2);
	CHECK_EQ(result.frames[0], CODE + 0x20);
	CHECK_EQ(result.frames[1], CODE + 0x50);
}

/* All registers come from the kernel's frame, and the frame behind it is looked up at its very pc. */
TEST(signal_frame)
{
	const uint16_t at[] = { 0x10, 0x20, 0x100, 0x8000 };
	const uint16_t rules[] = { SPECIAL(EBP_RULE_UNSUPPORTED), SPECIAL(EBP_RULE_SIGNAL), SPECIAL(EBP_RULE_EXOTIC),
		SPECIAL(EBP_RULE_STOP) };
	struct ebp_exotic by_r12 = { .cfa_reg = 12, .cfa_offset = 8, .ra = EBP_AT_CFA, .ra_offset = -8 };
	uint64_t *greg = stack + 5;	/* at rsp + 40 */

	begin(0);
	make_block(at, rules, 4, SPECIAL(EBP_RULE_GAP));
	set_exotic(by_r12);
	greg[4] = STACK + 960;		/* r12 */
	greg[15] = STACK + 800;		/* rsp */
	greg[16] = CODE + 0x100;	/* rip, the first byte of its rule */
	stack[120] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0x100));
	/* A handler's stack may be anywhere, but not for ever. */
	greg[15] = STACK;
	greg[16] = CODE + 0x20;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	stack_end = STACK + 100;
	CHECK_EQ(unwind(), EBP_UNREADABLE);
}

TEST(sigreturn_without_cfi)
{
	static const uint8_t musl[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }, go[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint64_t *greg = stack + 5;

	for (int i = 0; i < 2; i++) {
		begin(SPECIAL(EBP_RULE_GAP));
		memcpy(code, i ? go : musl, i ? sizeof(go) : sizeof(musl));
		greg[15] = STACK + 800;
		greg[16] = CODE + 0x8000;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(0));
	}
}

TEST(exotic_rules)
{
	/* *(rsp + 16) + 8, rbp in its own slot, and the return address below the CFA. */
	struct ebp_exotic slot = { .cfa = EBP_CFA_DEREF, .cfa_reg = RSP, .cfa_offset = 16, .cfa_add = 8,
		.fp = EBP_AT_REG, .fp_reg = RBP, .fp_offset = 0, .ra = EBP_AT_CFA, .ra_offset = -8 };
	/* vfork: the CFA is the stack pointer, and the return address in rdi. */
	struct ebp_exotic vfork = { .cfa_reg = RSP, .fp = EBP_AT_SAME, .ra = EBP_IN_REG, .ra_reg = 5 };
	struct ebp_exotic root = { .cfa_reg = RSP, .ra = EBP_AT_UNDEFINED };

	begin(SPECIAL(EBP_RULE_EXOTIC));
	set_exotic(slot);
	regs.r[RBP] = STACK + 8;
	stack[2] = STACK + 400;
	stack[50] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
	set_exotic(vfork);
	regs.r[5] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
	set_exotic(root);
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 1);
}

/* A register that only a leaf has is lost in its caller; an index that is not there is no rule. */
TEST(lost_registers)
{
	struct ebp_exotic by_rbx = { .cfa_reg = 3, .cfa_offset = 16, .ra = EBP_AT_CFA, .ra_offset = -8 };

	begin(SPECIAL(EBP_RULE_EXOTIC));
	set_exotic(by_rbx);
	regs.r[3] = STACK;
	stack[1] = CODE + 0x41;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	CHECK_EQ(result.n, 2);
	begin(SPECIAL(EBP_RULE_EXOTIC + 1));
	set_exotic(by_rbx);
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
	begin(SPECIAL(EBP_RULE_UNSUPPORTED));
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
}

TEST(tables_that_are_not_there)
{
	uint32_t none = EBP_REF_NONE, gap = EBP_REF_GAP, wild = 0x7fffffff;

	begin(2);
	rows[0].object = EBP_OBJECT_PENDING;
	CHECK_EQ(unwind(), EBP_NO_TABLE);
	rows[0].object = 0x7fffff00;
	CHECK_EQ(unwind(), EBP_NO_TABLE);
	rows[0].object = OBJECT;
	put(DIR, &none, sizeof(none));
	CHECK_EQ(unwind(), EBP_NO_TABLE);
	put(DIR, &wild, sizeof(wild));
	CHECK_EQ(unwind(), EBP_NO_TABLE);
	put(DIR, &gap, sizeof(gap));
	CHECK_EQ(unwind(), EBP_NO_CFI);
	memory.nrows = 0;
	CHECK_EQ(unwind(), EBP_NO_MAPPING);
	CHECK_EQ(result.frames[0], CODE + 0x20);
}

TEST(ends_of_bad_stacks)
{
	/* A return address of 0; a stack that leads to itself; one that cannot be read; one without an end. */
	begin(2);
	CHECK_EQ(unwind(), EBP_ZERO_RETURN);
	begin(EBP_RULE_FP_BASE | 2 | SAVED(1));
	regs.r[RBP] = STACK + 80;
	stack[10] = STACK + 80;
	stack[11] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	CHECK_EQ(result.n, 2);
	begin(3);
	stack_end = STACK + 20;
	CHECK_EQ(unwind(), EBP_UNREADABLE);
	begin(1);
	for (int i = 0; i < WORDS; i++)
		stack[i] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_DEPTH);
	CHECK_EQ(result.n, EBP_FRAMES_MAX);
	unwind_stack(&memory, &regs, 7, &result);
	CHECK_EQ(result.result, EBP_DEPTH);
	CHECK_EQ(result.n, 7);
}

/* The last word before memory that is not there is read all the same. */
TEST(the_end_of_readable_memory)
{
	begin(2);
	stack[1] = CODE + 0x31;
	stack[3] = ROOT;
	stack_end = STACK + 32;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
}

TEST(mappings)
{
	begin(2);
	rows[1] = (struct ebp_mapping){ CODE + 0x20000, CODE + 0x30000, 0, EBP_OBJECT_NONE, EBP_IMAGE_NONE };
	rows[2] = (struct ebp_mapping){ CODE + 0x30000, CODE + 0x40000, CODE + 0x30000, OBJECT, IMAGE + 1 };
	memory.nrows = 3;
	stack[1] = CODE + 0x30031;
	stack[3] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE + 1, 0x30));
	/* A return address just behind a mapping was a call in it. */
	stack[1] = CODE + 0x40000;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE + 1, 0xffff));
	stack[1] = CODE + 0x40001;
	CHECK_EQ(unwind(), EBP_NO_MAPPING);
	/* Without frame pointers code without CFI is the end. */
	stack[1] = CODE + 0x20001;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.frames[1], CODE + 0x20000);
	rows[1].object = EBP_OBJECT_UPROBES;
	CHECK_EQ(unwind(), EBP_UPROBE);
}

int main(void)
{
	RUN(by_stack_pointer);
	RUN(every_slot_of_the_frame_pointer);
	RUN(borders_of_buckets);
	RUN(full_bucket);
	RUN(plt_entries);
	RUN(gap_by_the_leafs_bytes);
	RUN(gap_by_frame_pointer);
	RUN(the_end_of_frame_pointers);
	RUN(signal_frame);
	RUN(sigreturn_without_cfi);
	RUN(exotic_rules);
	RUN(lost_registers);
	RUN(tables_that_are_not_there);
	RUN(ends_of_bad_stacks);
	RUN(the_end_of_readable_memory);
	RUN(mappings);
	return TEST_END();
}

#else

int main(void)
{
	return TEST_END();
}

#endif
