/* SPDX-License-Identifier: MIT */
/*
 * The unwinding step of x86-64 over tables and stacks made by hand: one test for each kind of rule
 * and of end.
 */
#include "test.h"

#define UNWIND_X86
#include "unwind/step/step.c"

#include "step_fake.h"

TEST(by_stack_pointer)
{
	set_up(2);
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
		const uint16_t rules[] = { 9 | SAVED(saved), EBP_RULE_FP_BASE | 2,
					   SPECIAL(EBP_RULE_STOP) };

		set_up(0);
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
	const uint16_t at[] = { 0xff, 0x100, 0x1ff, 0x200, 0xff00, 0xffff },
		       last[] = { 1, 2, 3, 4, 5, 6 };
	static const struct {
		uint16_t pc, words;
	} cases[] = {
		{ 0xfe, 7 },   { 0xff, 1 },   { 0x100, 2 },  { 0x101, 2 }, { 0x1fe, 2 },
		{ 0x1ff, 3 },  { 0x200, 4 },  { 0x2ff, 4 },  { 0x300, 4 }, { 0xfeff, 4 },
		{ 0xff00, 5 }, { 0xfffe, 5 }, { 0xffff, 6 }, { 0, 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_up(0);
		make_block(at, last, 6, 7);
		regs.r[REG_PC] = CODE + cases[i].pc;
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
		set_up(0);
		make_block(at, rules, 256, 0);
		regs.r[REG_PC] = CODE + 0x300 + i;
		stack[i] = 0x10000;
		CHECK_EQ(unwind(), EBP_NO_MAPPING);
		CHECK_EQ(result.frames[1], 0xffff);
	}
}

TEST(plt_entries)
{
	for (unsigned pc = 0; pc < 16; pc++)
		for (unsigned least = 10; least <= 11; least++) {
			set_up(SPECIAL(least == 10 ? EBP_RULE_PLT10 : EBP_RULE_PLT11));
			regs.r[REG_PC] = CODE + 0x40 + pc;
			stack[pc >= least] = ROOT;
			CHECK_EQ(unwind(), EBP_COMPLETE);
			CHECK(is_chain(0));
		}
}

TEST(gap_by_the_leafs_bytes)
{
	static const struct {
		uint8_t bytes[4];
		unsigned word;
	} cases[] = {
		{ { 0x55 }, 0 },
		{ { 0xc3 }, 0 },
		{ { 0xf3, 0xc3 }, 0 },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 0 },
		{ { 0x48, 0x89, 0xe5 }, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_up(SPECIAL(EBP_RULE_GAP));
		memcpy(code, cases[i].bytes, 4);
		stack[cases[i].word] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(0));
		CHECK_EQ(result.fp_frames, 0);
	}
}

/*
 * `sub $8, %rsp; call *%rcx; add $8, %rsp; ret`: wherever a leaf is in it, and where its call
 * returns to.
 */
TEST(gap_in_a_trampoline)
{
	static const uint8_t bytes[] = {
		0x48, 0x83, 0xec, 8, 0xff, 0xd1, 0x48, 0x83, 0xc4, 8, 0xc3
	};
	static const struct {
		unsigned at, word;
	} leaf[] = { { 0, 0 }, { 4, 1 }, { 6, 1 }, { 10, 0 } };
	const uint16_t at[] = { 0x10, 0x4000, 0x8000 };
	const uint16_t rules[] = { 2, SPECIAL(EBP_RULE_GAP), SPECIAL(EBP_RULE_STOP) };

	for (size_t i = 0; i < sizeof(leaf) / sizeof(*leaf); i++) {
		set_up(SPECIAL(EBP_RULE_GAP));
		memcpy(code, bytes, sizeof(bytes));
		code_at = CODE + 0x40;
		regs.r[REG_PC] = code_at + leaf[i].at;
		regs.r[REG_FP] = STACK + 400;
		stack[leaf[i].word] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(0));
		CHECK_EQ(result.fp_frames, 0);
	}
	for (int jit = 0; jit < 2; jit++) {
		set_up(0);
		make_block(at, rules, 3, SPECIAL(EBP_RULE_GAP));
		memcpy(code, bytes, sizeof(bytes));
		code_at = CODE + 0x4000;
		rows[1] = (struct ebp_mapping){ CODE + 0x20000, CODE + 0x30000, 0, EBP_OBJECT_NONE,
						EBP_IMAGE_NONE };
		memory.nrows = 2;
		if (jit)
			code_at = CODE + 0x20000;
		stack[1] = code_at + 6;
		stack[3] = ROOT;
		/* What rbp points at is nothing: this must not be taken for a root. */
		regs.r[REG_FP] = STACK + 400;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
		CHECK_EQ(result.fp_frames, 0);
	}
}

/*
 * Zeros where a guessed frame pointer leads are no root, and neither is one of 0 to which no other
 * led.
 */
TEST(guesses_have_no_root)
{
	set_up(SPECIAL(EBP_RULE_GAP));
	regs.r[REG_FP] = STACK + 80;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	for (int fp = 0; fp < 2; fp++) {
		set_up(0);
		rows[0].object = EBP_OBJECT_NONE;
		rows[0].image = EBP_IMAGE_NONE;
		regs.r[REG_FP] = fp ? STACK + 80 : 0;
		CHECK_EQ(unwind(), EBP_NO_CFI);
		CHECK_EQ(result.n, 1);
	}
}

TEST(gap_by_frame_pointer)
{
	set_up(SPECIAL(EBP_RULE_GAP));
	regs.r[REG_FP] = STACK + 80;
	stack[10] = STACK + 800;
	stack[11] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
	CHECK_EQ(result.fp_frames, 1);
	CHECK_EQ(result.by_fp, 1);
	/* What it finds may be no code. */
	stack[11] = 0x10000;
	CHECK_EQ(unwind(), EBP_NO_MAPPING);
	CHECK_EQ(result.by_fp, 1);
	/*
	 * It leads nowhere: below the stack pointer too often, to memory that is none, or it is not
	 * there.
	 */
	regs.r[REG_FP] = 0x1000;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[REG_FP] = STACK + 81;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[REG_FP] = 0;
	CHECK_EQ(unwind(), EBP_NO_CFI);
}

/* Code that has no CFI at all ends its stacks with a frame pointer of 0. */
TEST(the_end_of_frame_pointers)
{
	set_up(0);
	rows[0].object = EBP_OBJECT_NONE;
	rows[0].image = EBP_IMAGE_NONE;
	regs.r[REG_FP] = STACK + 80;
	stack[10] = 0;
	stack[11] = CODE + 0x51;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 2);
	CHECK_EQ(result.frames[0], CODE + 0x20);
	CHECK_EQ(result.frames[1], CODE + 0x50);
}

/*
 * All registers come from the kernel's frame, and the frame behind it is looked up at its very pc.
 */
TEST(frames_of_signals)
{
	const uint16_t at[] = { 0x10, 0x20, 0x100, 0x8000 };
	const uint16_t rules[] = { SPECIAL(EBP_RULE_UNSUPPORTED), SPECIAL(EBP_RULE_SIGNAL),
				   SPECIAL(EBP_RULE_EXOTIC), SPECIAL(EBP_RULE_STOP) };
	struct ebp_exotic by_r12 = {
		.cfa_reg = 12, .cfa_offset = 8, .ra = EBP_AT_CFA, .ra_offset = -8
	};
	uint64_t *greg = stack + 5;	/* at rsp + 40 */

	set_up(0);
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

/*
 * What a handler returns to was not called: its rule begins a byte early, so that it is found, its
 * code does not.
 */
TEST(trampolines_of_signals)
{
	const uint16_t at[] = { 0x10, 0xff, 0x8000 },
		       rules[] = { 1, SPECIAL(EBP_RULE_SIGNAL), SPECIAL(EBP_RULE_STOP) };
	uint64_t *greg = stack + 1 + 5;

	set_up(0);
	make_block(at, rules, 3, SPECIAL(EBP_RULE_GAP));
	stack[0] = CODE + 0x100;
	greg[15] = STACK + 800;
	greg[16] = CODE + 0x20;
	stack[100] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(2));
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0x100));
	CHECK_EQ(result.frames[2], EBP_FRAME(IMAGE, 0x20));
	/* The same as a leaf. */
	regs.r[REG_PC] = CODE + 0x100;
	regs.r[REG_SP] = STACK + 8;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
}

TEST(sigreturn_without_cfi)
{
	static const uint8_t musl[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
			     go[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint64_t *greg = stack + 5;

	for (int i = 0; i < 2; i++) {
		set_up(SPECIAL(EBP_RULE_GAP));
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
	struct ebp_exotic slot = { .cfa = EBP_CFA_DEREF,
				   .cfa_reg = REG_SP,
				   .cfa_offset = 16,
				   .cfa_add = 8,
				   .fp = EBP_AT_REG,
				   .fp_reg = REG_FP,
				   .fp_offset = 0,
				   .ra = EBP_AT_CFA,
				   .ra_offset = -8 };
	/* vfork: the CFA is the stack pointer, and the return address in rdi. */
	struct ebp_exotic vfork = {
		.cfa_reg = REG_SP, .fp = EBP_AT_SAME, .ra = EBP_IN_REG, .ra_reg = 5
	};
	struct ebp_exotic root = { .cfa_reg = REG_SP, .ra = EBP_AT_UNDEFINED };

	set_up(SPECIAL(EBP_RULE_EXOTIC));
	set_exotic(slot);
	regs.r[REG_FP] = STACK + 8;
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
	struct ebp_exotic by_rbx = {
		.cfa_reg = 3, .cfa_offset = 16, .ra = EBP_AT_CFA, .ra_offset = -8
	};

	set_up(SPECIAL(EBP_RULE_EXOTIC));
	set_exotic(by_rbx);
	regs.r[3] = STACK;
	stack[1] = CODE + 0x41;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	CHECK_EQ(result.n, 2);
	set_up(SPECIAL(EBP_RULE_EXOTIC + 1));
	set_exotic(by_rbx);
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
	set_up(SPECIAL(EBP_RULE_UNSUPPORTED));
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
}

TEST(tables_that_are_not_there)
{
	uint32_t none = EBP_REF_NONE, gap = EBP_REF_GAP, wild = 0x7fffffff;

	set_up(2);
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
	/*
	 * A return address of 0; a stack that leads to itself; one that cannot be read; one without
	 * an end.
	 */
	set_up(2);
	CHECK_EQ(unwind(), EBP_COMPLETE);
	regs.r[REG_FP] = STACK;
	CHECK_EQ(unwind(), EBP_ZERO_RETURN);
	set_up(EBP_RULE_FP_BASE | 2 | SAVED(1));
	regs.r[REG_FP] = STACK + 80;
	stack[10] = STACK + 80;
	stack[11] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	CHECK_EQ(result.n, 2);
	set_up(3);
	stack_end = STACK + 20;
	CHECK_EQ(unwind(), EBP_UNREADABLE);
	set_up(1);
	for (int i = 0; i < WORDS; i++)
		stack[i] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_DEPTH);
	CHECK_EQ(result.n, EBP_FRAMES_MAX);
	unwind_stack(&memory, &regs, 1, 7, &result);
	CHECK_EQ(result.result, EBP_DEPTH);
	CHECK_EQ(result.n, 7);
}

/* The last word before memory that is not there is read all the same. */
TEST(the_end_of_readable_memory)
{
	set_up(2);
	stack[1] = CODE + 0x31;
	stack[3] = ROOT;
	stack_end = STACK + 32;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
}

/*
 * More than 256 rules in a page: their places in the dictionary are two bytes, at an even offset.
 */
TEST(wide_places)
{
	for (uint16_t nrows = 1; nrows <= 2; nrows++) {
		struct ebp_block b = { .nrows = nrows, .ndict = 301, .flags = EBP_BLOCK_WIDE };
		uint8_t *p = shard + (BLOCK << EBP_REF_SHIFT),
			*wide = p + sizeof(b) + 2 * 301 + nrows + (nrows & 1);
		uint16_t place = 300, rule = 2;

		set_up(1);
		for (unsigned i = 0; i <= EBP_BUCKETS; i++)
			b.first[i] = i ? nrows : 0;
		memset(p, 0, 4096);
		memcpy(p, &b, sizeof(b));
		memcpy(p + sizeof(b) + 2 * 300, &rule, 2);
		p[sizeof(b) + 2 * 301 + nrows - 1] = 0x10;
		memcpy(wide + 2 * (nrows - 1), &place, 2);
		stack[1] = 0x10000;
		stack[0] = 0x20000;
		CHECK_EQ(unwind(), EBP_NO_MAPPING);
		CHECK_EQ(result.frames[1], 0xffff);
	}
}

/*
 * Tables of the file's third to fifth page: a gap, rules, and one that is not there; gaps before
 * and behind.
 */
TEST(borders_of_pages)
{
	const uint16_t at[] = { 0 }, rules[] = { 2 };
	struct ebp_object o = { .dir = DIR, .npages = 3, .first_page = 2 };
	uint32_t dir[] = { EBP_REF_GAP, BLOCK, EBP_REF_NONE };
	static const struct {
		uint32_t offset;
		enum ebp_result result;
	} cases[] = {
		{ 0x1ffff, EBP_NO_CFI },     { 0x2ffff, EBP_NO_CFI },	{ 0x30000, EBP_NO_MAPPING },
		{ 0x3ffff, EBP_NO_MAPPING }, { 0x40000, EBP_NO_TABLE }, { 0x4ffff, EBP_NO_TABLE },
		{ 0x50000, EBP_NO_CFI },
	};

	set_up(0);
	make_block(at, rules, 1, 0);
	put(OBJECT, &o, sizeof(o));
	put(DIR, dir, sizeof(dir));
	rows[0].end = CODE + 0x60000;
	stack[1] = 0x10000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		regs.r[REG_PC] = CODE + cases[i].offset;
		CHECK_EQ(unwind(), cases[i].result);
	}
}

/*
 * Tables at the very end of the last shard; and a block that would go on behind it is read masked.
 */
TEST(the_end_of_a_shard)
{
	uint32_t last = EBP_SHARD_BYTES / 16 - 1,
		 dir[] = { BLOCK, EBP_REF_NONE, EBP_REF_NONE, last };
	struct ebp_object o = { .dir = last, .npages = 4 };

	set_up(2);
	put(OBJECT, &o, sizeof(o));
	put(last, dir, sizeof(dir));
	rows[0].end = CODE + 0x40000;
	stack[1] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
	regs.r[REG_PC] = CODE + 0x30020;
	CHECK(unwind() < EBP_RESULTS);
	CHECK_EQ(result.frames[0], EBP_FRAME(IMAGE, 0x30020));
}

/* Frames carry addresses where there is no image, and where an offset has no room. */
TEST(frames_that_are_addresses)
{
	set_up(2);
	stack[1] = ROOT;
	rows[0].image = EBP_IMAGE_NONE;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.frames[0], CODE + 0x20);
	CHECK_EQ(result.frames[1], CODE + 0x8000);
	set_up(2);
	rows[0].bias = CODE - (1ull << EBP_OFFSET_BITS);
	regs.r[REG_FP] = 0;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	CHECK_EQ(result.frames[0], CODE + 0x20);
}

/* The flag of a file without any CFI: a frame pointer of 0 ends its stacks, and is no fault. */
TEST(files_without_cfi)
{
	uint32_t gap = EBP_REF_GAP;
	struct ebp_object o = { .dir = DIR, .npages = 1, .flags = EBP_OBJECT_NO_CFI };

	set_up(0);
	put(DIR, &gap, sizeof(gap));
	CHECK_EQ(unwind(), EBP_NO_CFI);
	put(OBJECT, &o, sizeof(o));
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 1);
}

/*
 * Only a leaf, or what a signal interrupted, is looked up at its pc: a rule that begins there holds
 * for it.
 */
TEST(return_addresses_are_less_one)
{
	const uint16_t at[] = { 0x10, 0x100, 0x8000 }, rules[] = { 1, 2, SPECIAL(EBP_RULE_STOP) };

	set_up(0);
	make_block(at, rules, 3, SPECIAL(EBP_RULE_GAP));
	stack[0] = CODE + 0x100;	/* the call was in the code before */
	stack[1] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0xff));
	regs.r[REG_PC] = CODE + 0x100;
	stack[0] = 0x20000;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(0));
}

int main(void)
{
	RUN(by_stack_pointer);
	RUN(every_slot_of_the_frame_pointer);
	RUN(borders_of_buckets);
	RUN(full_bucket);
	RUN(plt_entries);
	RUN(gap_by_the_leafs_bytes);
	RUN(gap_in_a_trampoline);
	RUN(guesses_have_no_root);
	RUN(gap_by_frame_pointer);
	RUN(the_end_of_frame_pointers);
	RUN(frames_of_signals);
	RUN(trampolines_of_signals);
	RUN(sigreturn_without_cfi);
	RUN(exotic_rules);
	RUN(lost_registers);
	RUN(tables_that_are_not_there);
	RUN(ends_of_bad_stacks);
	RUN(the_end_of_readable_memory);
	RUN(wide_places);
	RUN(borders_of_pages);
	RUN(the_end_of_a_shard);
	RUN(frames_that_are_addresses);
	RUN(files_without_cfi);
	RUN(return_addresses_are_less_one);
	return TEST_END();
}
