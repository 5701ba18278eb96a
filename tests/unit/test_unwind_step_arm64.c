/* SPDX-License-Identifier: MIT */
/*
 * The unwinding step of aarch64 over tables and stacks made by hand: what it does not share with
 * x86-64.
 */
#include "test.h"

#define UNWIND_ARM64
#include "unwind/step/step.c"

#include "step_fake.h"

#define GAP SPECIAL(EBP_RULE_GAP)
#define STOP SPECIAL(EBP_RULE_STOP)
#define RET 0xd65f03c0u
#define NOP 0xd503201fu
#define SIGNED(address) ((address) | 0x00a5ull << 48)	/* bits 48-54: the signature */

static void set_code(uint32_t first, uint32_t second)
{
	memcpy(code, &first, 4);
	memcpy(code + 4, &second, 4);
}

/* The leaf has @leaf, its callers, from 0x4000 on, @caller. */
static void set_up_two(uint16_t leaf, uint16_t caller)
{
	const uint16_t at[] = { 0x10, 0x4000, 0x8000 }, rules[] = { leaf, caller, STOP };

	set_up(0);
	make_block(at, rules, 3, GAP);
	set_code(NOP, NOP);
}

#define CALLER (CODE + 0x4001)

/*
 * In words from the frame's base, CFA = base + 80. The caller's CFA is by x29, so that must be
 * found, too, or kept.
 */
TEST(every_place_of_lr)
{
	static const struct {
		unsigned saved;
		int fp, lr;
	} cases[] = {
		{ EBP_SAVED_PAIR_LOW, 0, 1 }, { EBP_SAVED_PAIR_HIGH, 8, 9 },
		{ EBP_SAVED_LR_LOW, -1, 0 },  { EBP_SAVED_LR_HIGH, -1, 8 },
		{ EBP_SAVED_LR_TOP, -1, 9 },  { EBP_SAVED_PAIR_32, 6, 7 },
		{ EBP_SAVED_PAIR_48, 4, 5 },
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		int by_fp = i & 1, base = by_fp ? 100 : 0, caller = 200;	/* in words */
		unsigned saved = cases[i / 2].saved;

		set_up_two((uint16_t)(5 | SAVED(saved) | (by_fp ? EBP_RULE_FP_BASE : 0)),
			   EBP_RULE_FP_BASE | 20 | SAVED(EBP_SAVED_LR_HIGH));
		regs.r[REG_FP] = STACK + 800;
		stack[base + cases[i / 2].lr] = SIGNED(CALLER);
		if (cases[i / 2].fp >= 0)
			stack[base + cases[i / 2].fp] = STACK + 8 * (uint64_t)caller;
		else
			caller = 100;
		stack[caller + 40 - 2] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
	}
}

/* A leaf has its return address in x30, and may be level with its caller; a caller cannot. */
TEST(nothing_saved)
{
	set_up_two(SAVED(EBP_SAVED_NOTHING), 2 | SAVED(EBP_SAVED_PAIR_LOW));
	regs.r[REG_LR] = SIGNED(CALLER);
	stack[1] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	/* With room on the stack, but not for x30. */
	set_up_two(3 | SAVED(EBP_SAVED_NOTHING), 2 | SAVED(EBP_SAVED_LR_LOW));
	regs.r[REG_LR] = CALLER;
	stack[6] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	set_up_two(2 | SAVED(EBP_SAVED_PAIR_LOW), SAVED(EBP_SAVED_NOTHING));
	stack[1] = CALLER;
	regs.r[REG_LR] = ROOT;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	CHECK_EQ(result.n, 2);
}

TEST(ends)
{
	set_up_two(2 | SAVED(EBP_SAVED_PAIR_LOW), STOP);
	stack[0] = STACK;
	stack[1] = 0x00ffull << 48;	/* a signed 0 */
	CHECK_EQ(unwind(), EBP_ZERO_RETURN);
	stack[0] = 0;	/* no frame pointer either: the root */
	CHECK_EQ(unwind(), EBP_COMPLETE);
	regs.r[REG_SP] = STACK + 4;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	regs.r[REG_SP] = STACK;
	stack_end = STACK + 8;
	CHECK_EQ(unwind(), EBP_UNREADABLE);
	set_up_two(SPECIAL(EBP_RULE_UNSUPPORTED), STOP);
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
	set_up_two(SPECIAL(EBP_RULE_PLT11), STOP);
	CHECK_EQ(unwind(), EBP_UNSUPPORTED);
	/* Level with its callee for ever. */
	set_up_two(SAVED(EBP_SAVED_LR_LOW), SAVED(EBP_SAVED_LR_LOW));
	stack[0] = CALLER;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	CHECK_EQ(result.n, 2);
}

TEST(the_last_words_of_memory)
{
	static const struct {
		unsigned saved, lr;
	} cases[] = { { EBP_SAVED_PAIR_HIGH, 3 }, { EBP_SAVED_LR_TOP, 3 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_up_two((uint16_t)(2 | SAVED(cases[i].saved)), STOP);
		stack_end = STACK + 32;
		stack[cases[i].lr] = CALLER;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK_EQ(result.n, 2);
	}
}

/* A leaf without CFI whose next instruction says that it has no frame. */
TEST(gap_by_the_leafs_instruction)
{
	static const uint32_t frameless[] = { RET,	  0xd65f0bff, 0xd503233f, 0xd50323bf,
					      0xd503245f, 0xa9bf7bfd, 0xa9a07bfd };
	/*
	 * stp x29, x30, [sp, #16]; stp x29, x30, [sp, #16]!; stp x19, x20, [sp, #-16]!; ldp x19,
	 * x20, [sp], #16
	 */
	static const uint32_t others[] = { 0xa8c153f3, 0xa9017bfd, 0xa9817bfd, 0xa9bf53f3 };

	for (size_t i = 0; i < sizeof(frameless) / sizeof(*frameless); i++) {
		set_up_two(GAP, 2 | SAVED(EBP_SAVED_PAIR_LOW));
		set_code(frameless[i], NOP);
		regs.r[REG_LR] = SIGNED(CALLER);
		stack[1] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
		CHECK_EQ(result.fp_frames, 0);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		set_up_two(GAP, STOP);
		set_code(others[i], NOP);
		regs.r[REG_LR] = CALLER;
		CHECK_EQ(unwind(), EBP_NO_CFI);
	}
}

/* `mov x29, sp` and `add x29, sp, #48`: the record is there, x29 does not point to it yet. */
TEST(gap_with_a_record_just_made)
{
	for (unsigned n = 0; n <= 3; n += 3) {
		set_up_two(GAP, EBP_RULE_FP_BASE | 2 | SAVED(EBP_SAVED_PAIR_HIGH));
		set_code(0x910003fd | n * 16 << 10, NOP);
		regs.r[REG_FP] = 0xbad;
		stack[2 * n] = STACK + 800;
		stack[2 * n + 1] = CALLER;
		stack[103] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
		CHECK_EQ(result.fp_frames, 0);
	}
}

TEST(gap_by_frame_record)
{
	set_up(GAP);
	set_code(NOP, NOP);
	regs.r[REG_FP] = STACK + 80;
	stack[10] = STACK + 800;
	stack[11] = SIGNED(CODE + 0x51);
	stack[100] = 0;
	stack[101] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.fp_frames, 2);
	stack[11] = 0x10000;
	CHECK_EQ(unwind(), EBP_NO_MAPPING);
	CHECK_EQ(result.by_fp, 1);
	regs.r[REG_FP] = STACK + 81;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[REG_FP] = 0x1000;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	regs.r[REG_FP] = 0;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	rows[0].object = EBP_OBJECT_NONE;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	CHECK_EQ(result.n, 1);
	/* What is guessed marks no root; the end of a chain does. */
	regs.r[REG_FP] = STACK + 80;
	stack[10] = stack[11] = 0;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	stack[11] = CODE + 0x51;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 2);
}

/*
 * `ldp x29, x30, [sp], #n`, as CPython's trampolines end, at a leaf and where a call returns to: sp
 * is known behind it.
 */
TEST(gap_with_a_record_to_drop)
{
	for (unsigned n = 16; n <= 496; n += 480) {
		const uint16_t at[] = { 0x10, 0x4000, 0x5000, 0x8000 };
		const uint16_t rules[] = { 2 | SAVED(EBP_SAVED_LR_LOW), GAP,
					   2 | SAVED(EBP_SAVED_LR_HIGH), STOP };

		set_up_two(0, 0);
		make_block(at, rules, 4, GAP);
		set_code(0xa8c07bfd | n / 8 << 15, RET);
		code_at = CALLER;
		regs.r[REG_FP] = STACK + 4000;	/* no record: all zeros */
		stack[0] = SIGNED(CALLER);
		stack[5] = SIGNED(CODE + 0x5001);
		stack[4 + n / 8 + 2] = SIGNED(ROOT);
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(2));
		CHECK_EQ(result.fp_frames, 0);
		regs.r[REG_PC] = CALLER;
		regs.r[REG_SP] = STACK + 32;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(1));
	}
}

/*
 * A record does not say how large its frame is: its caller's CFA must come from
 * x29, though the rule says sp. Of 6 units, each place of the pair.
 */
TEST(sp_is_lost_behind_a_record)
{
	static const struct {
		unsigned saved, down;
	} cases[] = {
		{ EBP_SAVED_PAIR_LOW, 96 },
		{ EBP_SAVED_PAIR_HIGH, 16 },
		{ EBP_SAVED_PAIR_32, 32 },
		{ EBP_SAVED_PAIR_48, 48 },
	};
	const uint16_t at[] = { 0x10, 0x4000, 0x5000, 0x8000 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint16_t rules[] = { GAP, (uint16_t)(6 | SAVED(cases[i].saved)),
				     2 | SAVED(EBP_SAVED_LR_HIGH), STOP };

		set_up_two(0, 0);
		make_block(at, rules, 4, GAP);
		regs.r[REG_FP] = STACK + 80;
		stack[10] = STACK + 400;
		stack[11] = CALLER;
		stack[51] = CODE + 0x5001;
		/* And from then on sp is known again: by it alone. */
		stack[50 + cases[i].down / 8 + 2] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK(is_chain(2));
	}
	/* Where only x30 was saved, x29 does not help. */
	for (unsigned saved = EBP_SAVED_LR_LOW; saved <= EBP_SAVED_LR_TOP; saved++) {
		set_up_two(GAP, (uint16_t)(6 | SAVED(saved)));
		regs.r[REG_FP] = STACK + 80;
		stack[11] = CALLER;
		CHECK_EQ(unwind(), EBP_LOST_REGISTER);
		CHECK_EQ(result.n, 2);
	}
}

TEST(what_else_needs_sp)
{
	struct ebp_exotic by_sp = {
		.cfa_reg = REG_SP, .cfa_offset = 32, .ra = EBP_AT_CFA, .ra_offset = -8
	};

	set_up_two(GAP, SPECIAL(EBP_RULE_EXOTIC));
	set_exotic(by_sp);
	regs.r[REG_FP] = STACK + 80;
	stack[11] = CALLER;
	stack[15] = ROOT;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	set_up_two(GAP, SPECIAL(EBP_RULE_SIGNAL));
	regs.r[REG_FP] = STACK + 80;
	stack[11] = CALLER;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	CHECK_EQ(result.n, 2);
}

TEST(exotic_rules)
{
	/* CFA in x9, x29 at x10 + 8, return address in x11. */
	struct ebp_exotic leaf = { .cfa_reg = 9,
				   .cfa_offset = 16,
				   .fp = EBP_AT_REG,
				   .fp_reg = 10,
				   .fp_offset = 8,
				   .ra = EBP_IN_REG,
				   .ra_reg = 11 };
	struct ebp_exotic level = { .cfa_reg = REG_SP, .ra = EBP_AT_SAME, .ra_reg = REG_LR };

	set_up_two(SPECIAL(EBP_RULE_EXOTIC), EBP_RULE_FP_BASE | 2 | SAVED(EBP_SAVED_PAIR_LOW));
	set_exotic(leaf);
	regs.r[9] = STACK + 80;
	regs.r[10] = STACK + 40;
	regs.r[11] = SIGNED(CALLER);
	stack[6] = STACK + 800;
	stack[101] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	/* Its caller has these registers no more. */
	regs.r[11] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
	CHECK_EQ(result.n, 2);
	set_up_two(SPECIAL(EBP_RULE_EXOTIC), STOP);
	set_exotic(level);
	regs.r[REG_LR] = CALLER;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK_EQ(result.n, 2);
	regs.r[REG_LR] = CODE + 0x31;
	CHECK_EQ(unwind(), EBP_LOST_REGISTER);
}

/* x0-x30, sp and pc are 312 bytes above the stack pointer; x30 is good again, and so is sp. */
TEST(frames_of_signals)
{
	const uint16_t at[] = { 0x10, 0x20, 0x100, 0x8000 };
	const uint16_t rules[] = { SPECIAL(EBP_RULE_UNSUPPORTED), SPECIAL(EBP_RULE_SIGNAL),
				   SAVED(EBP_SAVED_NOTHING), STOP };
	uint64_t *x = stack + 312 / 8;

	set_up(0);
	make_block(at, rules, 4, GAP);
	x[30] = SIGNED(ROOT);
	x[31] = STACK + 2000;
	x[32] = CODE + 0x100;	/* the first byte of its rule */
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0x100));
	x[32] = 0;
	CHECK_EQ(unwind(), EBP_ZERO_RETURN);
	/* A handler's stack may be anywhere, but not for ever. */
	x[31] = STACK;
	x[32] = CODE + 0x20;
	CHECK_EQ(unwind(), EBP_BAD_CFA);
	stack_end = STACK + 312 + 32 * 8;
	CHECK_EQ(unwind(), EBP_UNREADABLE);
}

/*
 * The vDSO's trampoline: in a file with CFI, but without itself, and returned to, so never the
 * leaf.
 */
TEST(sigreturn_without_cfi)
{
	uint64_t *x = stack + (32 + 312) / 8;

	set_up_two(2 | SAVED(EBP_SAVED_PAIR_LOW), GAP);
	set_code(0xd2801168, 0xd4000001);
	stack[1] = CALLER;
	x[31] = STACK + 2000;
	x[32] = CODE + 0x8000;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_chain(1));
	CHECK_EQ(result.fp_frames, 0);
	/* Another system call is none. */
	set_code(0xd2801188, 0xd4000001);
	CHECK_EQ(unwind(), EBP_NO_CFI);
}

/* The same as the leaf: at its beginning, at its system call, and in it. */
TEST(sigreturn_as_leaf)
{
	uint64_t *x = stack + 312 / 8;

	for (unsigned passed = 0; passed <= 3; passed++) {
		set_up(GAP);
		set_code(0xd2801168, 0xd4000001);
		code_at = CODE + 0x20 - 4 * passed;
		x[31] = STACK + 2000;
		x[32] = CODE + 0x8000;
		CHECK_EQ(unwind(), passed < 3 ? EBP_COMPLETE : EBP_NO_CFI);
		CHECK_EQ(result.n, passed < 3 ? 2 : 1);
	}
}

int main(void)
{
	RUN(every_place_of_lr);
	RUN(nothing_saved);
	RUN(ends);
	RUN(the_last_words_of_memory);
	RUN(gap_by_the_leafs_instruction);
	RUN(gap_with_a_record_just_made);
	RUN(gap_by_frame_record);
	RUN(gap_with_a_record_to_drop);
	RUN(sp_is_lost_behind_a_record);
	RUN(what_else_needs_sp);
	RUN(exotic_rules);
	RUN(frames_of_signals);
	RUN(sigreturn_without_cfi);
	RUN(sigreturn_as_leaf);
	return TEST_END();
}
