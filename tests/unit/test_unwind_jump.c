/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time that an interpreter jumps to, on whose frame it runs: back to that frame
 * (bpf/unwind_x86.h), or not.
 */
#include "test.h"

#define UNWIND_X86
#include "unwind/step/step.c"

#include "step_fake.h"

#define MADE	(CODE + 0x20000)	/* code made at run time */
#define LOOP	(CODE + 0x100)		/* what jumps there */
#define LOOP_WORDS 6

/* A leaf in such code, whose caller's frame is by @rule; @bytes are before all return addresses. */
static void set_up_jump(uint16_t rule, const uint8_t bytes[8])
{
	set_up(rule);
	rows[1] = (struct ebp_mapping){ MADE, MADE + 0x1000, MADE - 0x100, EBP_OBJECT_NONE,
					EBP_IMAGE_NONE };
	memory.nrows = 2;
	memory.jump = (struct ebp_jump){ LOOP, LOOP + 0x23, CODE, EBP_PAGE_BYTES, rule };
	memcpy(code, bytes, 8);
	regs.r[REG_PC] = MADE + 0x10;
}

/* That code, the loop at its jump, and the root. */
static int is_from_loop(void)
{
	return result.n == 3 && result.frames[0] == MADE + 0x10 &&
	       result.frames[1] == EBP_FRAME(IMAGE, LOOP + 0x22 - CODE) &&
	       result.frames[2] == EBP_FRAME(IMAGE, ROOT - 1 - CODE);
}

static const uint8_t call_by_register[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 };

/* Opcache's JIT: its code is on the frame of the loop that jumps to it, and may push something. */
TEST(code_on_the_frame_of_what_jumped_there)
{
	for (unsigned pushed = 0; pushed < 6; pushed++) {
		set_up_jump(LOOP_WORDS, call_by_register);
		stack[pushed + LOOP_WORDS - 1] = ROOT;
		CHECK_EQ(unwind(), pushed < 5 ? EBP_COMPLETE : EBP_NO_CFI);
		CHECK_EQ(is_from_loop(), pushed < 5);
	}
	/* By the loop's frame pointer, which that code leaves alone. */
	set_up_jump(EBP_RULE_FP_BASE | 2 | SAVED(1), call_by_register);
	regs.r[REG_FP] = STACK + 160;
	stack[20] = STACK + 400;
	stack[21] = ROOT;
	CHECK_EQ(unwind(), EBP_COMPLETE);
	CHECK(is_from_loop());
	CHECK_EQ(result.fp_frames, 0);
}

/* Where a call returns to, more may be dropped: `add $n, %rsp`, here of either length. */
TEST(code_that_jumped_drops_what_it_pushed)
{
	static const struct {
		uint8_t bytes[8];
		unsigned words;
	} cases[] = {
		{ { 0x48, 0x83, 0xc4, 0x18, 0x90, 0x90, 0xff, 0xd0 }, 3 },
		/* its n looks like a call of what is 0x7e00 bytes before */
		{ { 0x48, 0x81, 0xc4, 0xe8, 0x00, 0x82, 0xff, 0xff }, 29 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_up_jump(LOOP_WORDS, cases[i].bytes);
		memory.jump.loop = ROOT - 0x7e00;
		regs.r[REG_PC] = CODE + 0x20;
		stack[LOOP_WORDS - 1] = MADE + 0x11;
		stack[2 * LOOP_WORDS + cases[i].words - 1] = ROOT;
		CHECK_EQ(unwind(), EBP_COMPLETE);
		CHECK_EQ(result.n, 4);
		CHECK_EQ(result.frames[1], MADE + 0x10);
	}
}

TEST(calls_of_what_jumped)
{
	static const struct {
		uint8_t bytes[8];
		int calls;
	} cases[] = {
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x12 }, 1 },	/* *(%rdx) */
		{ { 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0x14, 0x24 }, 1 },	/* *(%r12) */
		{ { 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0x55, 0x00 }, 1 },	/* *(%r13) */
		{ { 0x90, 0x90, 0xff, 0x15, 1, 2, 3, 0 }, 1 },			/* *n(%rip) */
		{ { 0x90, 0x90, 0x90, 0xe8, 0xff, 0x80, 0xff, 0xff }, 1 },	/* LOOP */
		{ { 0x90, 0x90, 0x90, 0xe8, 0xfe, 0x80, 0xff, 0xff }, 0 },	/* something else */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, 0 },	/* jmp *%rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_up_jump(LOOP_WORDS, cases[i].bytes);
		stack[LOOP_WORDS - 1] = ROOT;
		CHECK_EQ(unwind(), cases[i].calls ? EBP_COMPLETE : EBP_NO_CFI);
		CHECK_EQ(is_from_loop(), cases[i].calls);
	}
}

/* Other code made at run time (PCRE's JIT) is in memory that nobody shares. */
TEST(code_that_nothing_jumped_to)
{
	for (int i = 0; i < 3; i++) {
		set_up_jump(LOOP_WORDS, call_by_register);
		stack[LOOP_WORDS - 1] = i == 1 ? LOOP + EBP_PAGE_BYTES : ROOT;
		if (!i)
			rows[1].bias = 0;
		if (i == 2)
			memory.jump.from = 0;
		CHECK_EQ(unwind(), EBP_NO_CFI);
		CHECK_EQ(result.n, 1);
	}
}

int main(void)
{
	RUN(code_on_the_frame_of_what_jumped_there);
	RUN(code_that_jumped_drops_what_it_pushed);
	RUN(calls_of_what_jumped);
	RUN(code_that_nothing_jumped_to);
	return TEST_END();
}
