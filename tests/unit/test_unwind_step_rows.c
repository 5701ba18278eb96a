/* SPDX-License-Identifier: MIT */
/*
 * The unwinding step finds the mapping that an address is in, and none for one that no process can
 * have.
 */
#include "test.h"

#define UNWIND_X86
#include "unwind/step/step.c"

#include "step_fake.h"

TEST(mappings)
{
	set_up(2);
	rows[1] = (struct ebp_mapping){ CODE + 0x20000, CODE + 0x30000, 0, EBP_OBJECT_NONE,
					EBP_IMAGE_NONE };
	rows[2] = (struct ebp_mapping){ CODE + 0x30000, CODE + 0x40000, CODE + 0x30000, OBJECT,
					IMAGE + 1 };
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
	CHECK_EQ(result.by_fp, 0);
	/* Without frame pointers code without CFI leads nowhere. */
	stack[1] = CODE + 0x20001;
	CHECK_EQ(unwind(), EBP_NO_CFI);
	CHECK_EQ(result.frames[1], CODE + 0x20000);
	rows[1].object = EBP_OBJECT_UPROBES;
	CHECK_EQ(unwind(), EBP_UPROBE);
}

/*
 * The vsyscall page lies above all that a process may map. What is between is in neither, and does
 * not read as a frame of a file.
 */
TEST(addresses_that_no_process_has)
{
	static const uint64_t wild[] = { 0x8000000000000163, 0x8000020000000163, 0xffff888000000163,
					 0xfffffffffffffff3 };

	set_up(2);
	rows[1] = (struct ebp_mapping){ 0xffffffffff600000, 0xffffffffff601000, 0, EBP_OBJECT_NONE,
					EBP_IMAGE_NONE };
	memory.nrows = 2;
	for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		stack[1] = wild[i];
		CHECK_EQ(unwind(), EBP_NO_MAPPING);
		CHECK_EQ(result.n, 2);
		CHECK_EQ(EBP_FRAME_IMAGE_OF(result.frames[1]), EBP_IMAGE_NONE);
	}
}

int main(void)
{
	RUN(mappings);
	RUN(addresses_that_no_process_has);
	return TEST_END();
}
