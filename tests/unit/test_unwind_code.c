/* SPDX-License-Identifier: MIT */
/* Frames by the code that leaves them: known sequences, and what cannot be followed. */
#include "test.h"

#include "bpf/unwind.h"
#include "unwind/step/code.h"

#define SAVED(n) ((n) << EBP_RULE_SAVED_SHIFT)
#define FP EBP_RULE_FP_BASE
#define CODE(...) ((const uint8_t[]){ __VA_ARGS__ }), sizeof((const uint8_t[]){ __VA_ARGS__ })

static uint16_t at(size_t from, const uint8_t *code, size_t n)
{
	return unwind_code_rule(code, n, from);
}

TEST(ways_out)
{
	CHECK_EQ(at(0, CODE(0xc3)), 1);
	CHECK_EQ(at(0, CODE(0xf3, 0xc3)), 1);
	CHECK_EQ(at(0, CODE(0xc2, 0x10, 0x00)), 1);
	/* pop %rbp; add $24, %rsp; add $0x100, %rsp; lea 16(%rsp), %rsp */
	CHECK_EQ(at(0, CODE(0x5d, 0xc3)), 2 | SAVED(1));
	CHECK_EQ(at(0, CODE(0x48, 0x83, 0xc4, 0x18, 0xc3)), 4);
	CHECK_EQ(at(0, CODE(0x48, 0x81, 0xc4, 0x00, 0x01, 0x00, 0x00, 0xc3)), 33);
	CHECK_EQ(at(0, CODE(0x48, 0x8d, 0x64, 0x24, 0x10, 0xc3)), 3);
	/* pop %r12; pop %rbx; pop %rbp; and rbp as the first of three */
	CHECK_EQ(at(0, CODE(0x41, 0x5c, 0x5b, 0x5d, 0xc3)), 4 | SAVED(1));
	CHECK_EQ(at(0, CODE(0x5d, 0x5b, 0x41, 0x5c, 0xc3)), 4 | SAVED(3));
	/* leave; mov %rbp, %rsp, pop %rbp; lea -8(%rbp), %rsp, pop %rbx, pop %rbp */
	CHECK_EQ(at(0, CODE(0xc9, 0xc3)), FP | 2 | SAVED(1));
	CHECK_EQ(at(0, CODE(0x48, 0x89, 0xec, 0x5d, 0xc3)), FP | 2 | SAVED(1));
	CHECK_EQ(at(0, CODE(0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3)), FP | 2 | SAVED(1));
}

/* crtstuff's __do_global_dtors_aux, from each of its instructions on. */
TEST(each_place_of_a_function)
{
	static const uint8_t code[] = {
		/* endbr64; cmpb $0, done(%rip); jne 32 */
		0xf3, 0x0f, 0x1e, 0xfa, 0x80, 0x3d, 0, 0, 0, 0, 0, 0x75, 0x13,
		/* push %rbp; cmpq; mov %rsp, %rbp */
		0x55, 0x48, 0x83, 0x3d, 0, 0, 0, 0, 0, 0x48, 0x89, 0xe5,
		/* call; pop %rbp; ret; ret */
		0xe8, 0, 0, 0, 0, 0x5d, 0xc3, 0xc3,
	};
	static const struct {
		size_t at;
		uint16_t rule;
	} cases[] = {
		{ 0, 1 },
		{ 4, 1 },
		{ 11, 1 },
		{ 13, 1 },
		{ 14, 2 | SAVED(1) },
		{ 22, 2 | SAVED(1) },
		{ 25, 2 | SAVED(1) },
		{ 30, 2 | SAVED(1) },
		{ 31, 1 },
		{ 32, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_EQ(unwind_code_rule(code, sizeof(code), cases[i].at), cases[i].rule);
}

TEST(jumps)
{
	/* jmp over int3; jmp back to a ret; one that is for ever, and what is behind it */
	CHECK_EQ(at(0, CODE(0xeb, 1, 0xf4, 0xc3)), 1);
	CHECK_EQ(at(1, CODE(0xc3, 0xeb, 0xfd)), 1);
	CHECK_EQ(at(0, CODE(0x90, 0xeb, 0xfd, 0x58, 0xc3)), 2);
	/* jmp *%rax, which may be a switch; a call of another function in place of a return */
	CHECK_EQ(at(0, CODE(0xff, 0xe0, 0xc3)), 1);
	CHECK_EQ(at(0, CODE(0x58, 0xe9, 0, 0, 1, 0)), 2);
}

/*
 * As PCRE's JIT has it: one frame, its end in the midst, behind it what goes back when nothing
 * matched, and a subroutine that puts away where it returns to.
 */
TEST(both_ways_of_branches)
{
	static const uint8_t code[] = {
		/* push %rbx; push %r15; sub $0xb0, %rsp; inc %rsi */
		0x53, 0x41, 0x57, 0x48, 0x81, 0xec, 0xb0, 0, 0, 0, 0x48, 0xff, 0xc6,
		/* 13: cmp %rbx, %rsi; jae 33; add $0xb0, %rsp; pop %r15; pop %rbx; ret */
		0x48, 0x39, 0xde, 0x73, 0x0f, 0x48, 0x81, 0xc4, 0xb0, 0, 0, 0, 0x41, 0x5f,
		0x5b, 0xc3,
		0xcc, 0xcc, 0xcc, 0xcc,
		/* 33: inc %rsi; call 48; cmp %rbx, %rsi; jb 13; jmp 33 */
		0x48, 0xff, 0xc6, 0xe8, 7, 0, 0, 0, 0x48, 0x39, 0xde, 0x72, 0xdf, 0xeb, 0xf1,
		/* 48: pop (%rsp); push (%rsp); ret */
		0x8f, 0x04, 0x24, 0xff, 0x34, 0x24, 0xc3,
	};
	const uint16_t rule = 0xb0 / 8 + 3;

	CHECK_EQ(unwind_code_rule(code, sizeof(code), 0), 1);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 1), 2);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 10), rule);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 13), rule);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 25), 3);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 33), rule);
	CHECK_EQ(unwind_code_rule(code, sizeof(code), 41), rule);
}

/* Instructions of each length: each is `VEX` or what not, and `pop %rax; ret` follows. */
TEST(lengths)
{
	static const struct { uint8_t n, b[15]; } all[] = {
		{ 3, { 0x48, 0x01, 0xd8 } }, { 5, { 0x66, 0xb8, 1, 2, 0x90 } },
		{ 10, { 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8 } },
		{ 10, { 0x48, 0xb8, 255, 255, 255, 255, 255, 255, 255, 127 } },
		{ 8, { 0x48, 0x8b, 0x84, 0xc8, 0x10, 0x20, 0, 0 } },
		{ 7, { 0x48, 0x8d, 0x05, 1, 2, 3, 4 } },
		{ 8, { 0x8b, 0x04, 0x25, 1, 2, 3, 4, 0x90 } }, { 4, { 0x66, 0x0f, 0x6e, 0xc0 } },
		{ 6, { 0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8 } },
		{ 5, { 0x66, 0x0f, 0x38, 0x00, 0xc1 } }, { 5, { 0xc5, 0xf9, 0x70, 0xc0, 1 } },
		{ 4, { 0xc5, 0xf8, 0x77, 0x90 } }, { 6, { 0xc4, 0xe3, 0x71, 0x0f, 0xc2, 4 } },
		{ 6, { 0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1 } },
		{ 7, { 0x62, 0xf3, 0x75, 0x48, 0x43, 0xc2, 1 } },
		{ 7, { 0x62, 0xf1, 0x7c, 0x48, 0x28, 0x47, 1 } },
		{ 6, { 0x0f, 0x84, 1, 2, 3, 4 } }, { 3, { 0xf6, 0xc1, 1 } }, { 2, { 0xf6, 0xd1 } },
		{ 6, { 0xf7, 0xc1, 1, 2, 3, 4 } }, { 5, { 0xe8, 1, 2, 3, 4 } }, { 2, { 0xa8, 1 } },
		{ 9, { 0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 } },
		{ 5, { 0x48, 0x0f, 0xba, 0xe0, 5 } }, { 4, { 0x0f, 0xc8, 0x0f, 0xc9 } },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		uint8_t code[20];

		memcpy(code, all[i].b, all[i].n);
		memcpy(code + all[i].n, "\x58\xc3", 2);
		CHECK_EQ(unwind_code_rule(code, all[i].n + 2u, 0), 2);
		/* Code that ends before is no code. */
		for (size_t n = 0; n < all[i].n + 2u; n++)
			CHECK_EQ(unwind_code_rule(code, n, 0), 0);
	}
}

/* What is done with rsp that cannot be followed; traps; what is no code. */
TEST(unknown)
{
	CHECK_EQ(at(0, CODE(0x48, 0x83, 0xe4, 0xf0, 0xc3)), 0);		/* and $-16, %rsp */
	CHECK_EQ(at(0, CODE(0x48, 0x89, 0xc4, 0xc3)), 0);		/* mov %rax, %rsp */
	CHECK_EQ(at(0, CODE(0x48, 0x8b, 0x67, 0x10, 0xc3)), 0);		/* mov 16(%rdi), %rsp */
	/* lea 16(%rsp,%rax), %rsp */
	CHECK_EQ(at(0, CODE(0x48, 0x8d, 0x64, 0x04, 0x10, 0xc3)), 0);
	CHECK_EQ(at(0, CODE(0x48, 0x94, 0xc3)), 0);			/* xchg %rax, %rsp */
	CHECK_EQ(at(0, CODE(0x48, 0x01, 0xc4, 0xc3)), 0);		/* add %rax, %rsp */
	CHECK_EQ(at(0, CODE(0x5c, 0xc3)), 0);				/* pop %rsp */
	CHECK_EQ(at(0, CODE(0x0f, 0x0b, 0xc3)), 0);			/* ud2 */
	/* add $-16, %rsp: the return address was pushed here */
	CHECK_EQ(at(0, CODE(0x48, 0x83, 0xc4, 0xf0, 0xc3)), 0);
	CHECK_EQ(at(0, CODE(0x48, 0x83, 0xc4, 0x04, 0xc3)), 0);
	CHECK_EQ(at(1, CODE(0xc3)), 0);
}

int main(void)
{
	RUN(ways_out);
	RUN(each_place_of_a_function);
	RUN(jumps);
	RUN(both_ways_of_branches);
	RUN(lengths);
	RUN(unknown);
	return TEST_END();
}
