/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "proc/procs.h"

#define P (1 << 28)	/* PIDs from here on are above PID_MAX_LIMIT: they are in no /proc */

TEST(what_is_released_is_used_again)
{
	static const struct image_key code = {
		.path = "/a", .inode = 1, .start = 0x1000, .end = 0x2000
	};
	unsigned char kept[8] = { 0 };
	uint32_t lives, held, gone, again;
	struct images *images = images_new();
	struct procs *procs = procs_new(images, NULL);

	procs_exec(procs, 100, P, "lives");
	procs_exec(procs, 100, P + 1, "held");
	procs_exec(procs, 100, P + 2, "gone");
	procs_mmap(procs, 100, P + 1, &code, 0);
	procs_mmap(procs, 100, P + 2, &code, 0);
	lives = procs_at(procs, P, 100);
	held = procs_at(procs, P + 1, 100);
	gone = procs_at(procs, P + 2, 100);
	procs_exit(procs, 200, P + 1);
	procs_exit(procs, 200, P + 2);
	/* Ended, but not forgotten. */
	procs_release(procs, kept);
	CHECK_STR(procs_info(procs, gone).comm, "gone");
	CHECK_EQ(procs_info(procs, gone).forgotten, 0);
	procs_forget(procs, 300);
	CHECK_EQ(procs_info(procs, gone).forgotten, 1);
	CHECK_EQ(procs_info(procs, lives).forgotten, 0);
	kept[held] = 1;
	procs_release(procs, kept);
	procs_release(procs, kept);
	CHECK_EQ(procs_count(procs), 3);
	procs_exec(procs, 400, P + 2, "again");
	procs_mmap(procs, 400, P + 2, &code, 0);
	again = procs_at(procs, P + 2, 400);
	CHECK_EQ(again, gone);
	CHECK_STR(procs_info(procs, again).comm, "again");
	CHECK_EQ(procs_info(procs, again).forgotten, 0);
	CHECK_STR(procs_info(procs, held).comm, "held");
	CHECK_STR(procs_info(procs, lives).comm, "lives");
	/* It was released once: the next one is new. */
	procs_exec(procs, 400, P + 3, "next");
	CHECK_EQ(procs_at(procs, P + 3, 400), 3);
	/* And it can be released again. */
	procs_exit(procs, 500, P + 2);
	procs_forget(procs, 600);
	procs_release(procs, kept);
	procs_exec(procs, 700, P + 4, "third");
	CHECK_EQ(procs_at(procs, P + 4, 700), gone);
	procs_free(procs);
	images_free(images);
}

int main(void)
{
	RUN(what_is_released_is_used_again);
	return TEST_END();
}
