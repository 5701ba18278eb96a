/* SPDX-License-Identifier: MIT */
/*
 * Out of clone() come two: a thread that was just born, and has no caller, and the one that made
 * it; registers tell which, where the code is known (bpf/unwind_x86.h).
 */
#include "test.h"

#define UNWIND_X86
#include "unwind/step/step.c"

#include "step_fake.h"

TEST(clone_without_cfi)
{
	static const uint8_t glibc[] = { 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3 },
			     go[] = { 0x48, 0x83, 0xf8, 0, 0x74, 0x05, 0x89, 0x44 },
			     then[] = { 0x74, 0x05, 0x89, 0x44, 0x24, 0x30, 0xc3, 0x48 };
	static const uint8_t *const all[] = { glibc, go, then };

	for (int i = 0; i < 6; i++) {
		set_up(SPECIAL(EBP_RULE_GAP));
		memcpy(code, all[i / 2], sizeof(go));
		regs.r[0] = i & 1 ? 1234 : 0;
		regs.r[REG_FP] = 0;
		stack[0] = CODE + 0x8000;
		if (!(i & 1)) {
			CHECK_EQ(unwind(), EBP_COMPLETE);
			CHECK_EQ(result.n, 1);
			continue;
		}
		unwind();
		CHECK(result.n > 1);
		CHECK_EQ(result.frames[1], EBP_FRAME(IMAGE, 0x7fff));
	}
}

int main(void)
{
	RUN(clone_without_cfi);
	return TEST_END();
}
