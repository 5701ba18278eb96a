/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include "unwind/table/build.h"
#include "unwind/table/pack.h"
#include "unwind/table/throw.h"

/* In libgcc as it is, where that for aarch64 is here: those of the four that go to handlers. */
TEST(going_to_a_handler)
{
	static const char path[] = "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	struct unwind_throw calls[UNWIND_THROWS];
	struct unwind_table t;

	if (!elf) {
		fprintf(stderr, "no %s\n", path);
		return;
	}
	CHECK_EQ(unwind_throws(elf, calls), UNWIND_THROWS);
	CHECK_EQ(unwind_table_build_for(EM_AARCH64, elf, NULL, &t), 0);
	for (size_t i = 0; i < UNWIND_THROWS; i++) {
		uint64_t at = calls[i].offset;
		uint16_t before = unwind_table_rule(&t, at - 4), rule = unwind_table_rule(&t, at);
		const struct ebp_exotic x = unwind_throw_rule(&calls[i]);
		unsigned int index = (rule & ~EBP_RULE_SPECIAL) - EBP_RULE_EXOTIC;

		CHECK_EQ(before >> EBP_RULE_SAVED_SHIFT, EBP_SAVED_PAIR_LOW);
		CHECK(rule & EBP_RULE_SPECIAL && index < t.nexotic &&
		      !memcmp(&t.exotic[index], &x, sizeof(x)));
		CHECK_EQ(unwind_table_rule(&t, at + 3), rule);
		CHECK_EQ(unwind_table_rule(&t, at + 4), before);
		/* Within the frame, whose size the rule before says. */
		CHECK(calls[i].place > 96 && calls[i].place < (before & EBP_RULE_OFFSET_MASK) * 16);
	}
	unwind_table_free(&t);
	elf_file_free(elf);
	close(fd);
}

int main(void)
{
	RUN(going_to_a_handler);
	return TEST_END();
}
