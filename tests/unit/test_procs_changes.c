/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "proc/procs.h"

/* PIDs from here on are above PID_MAX_LIMIT: they are in no /proc */
#define P	(1 << 28)

static struct procs *procs;

static void map(uint64_t time, pid_t pid, uint64_t start, const char *path)
{
	struct image_key k = { .path = path, .inode = 1, .start = start, .end = start + 0x1000 };

	procs_mmap(procs, time, pid, &k, 0);
}

static void count_mapping(void *ctx, const struct mapping *m)
{
	*(uint64_t *)ctx = *(uint64_t *)ctx * 0x100 + (m->start >> 12);
}

static uint64_t mappings_of(pid_t pid, uint64_t time)
{
	uint64_t starts = 0;

	procs_each_mapping_of(procs, pid, time, count_mapping, &starts);
	return starts;
}

/* What some kernels tell of at an exec. */
TEST(exit_right_after_exec)
{
	struct images *images = images_new();

	procs = procs_new(images, NULL);
	procs_fork(procs, 100, P, P + 1);
	procs_exec(procs, 200, P, "x");
	CHECK_EQ(procs_exit(procs, 201, P), 0);
	map(202, P, 0x1000, "/a");
	CHECK_EQ(mappings_of(P, 300), 0x01);
	CHECK_EQ(procs_exit(procs, 400, P), 1);
	/* One that was not exec'ed may have nothing mapped. */
	procs_fork(procs, 600, P + 2, P + 3);
	CHECK_EQ(procs_exit(procs, 601, P + 2), 1);
	procs_free(procs);
	images_free(images);
}

TEST(changes_are_told_once)
{
	struct images *images = images_new();

	procs = procs_new(images, NULL);
	CHECK_EQ(procs_next_changed(procs), 0);
	procs_exec(procs, 100, P, "x");
	map(101, P, 0x1000, "/a");
	map(102, P, 0x3000, "/b");
	CHECK_EQ(procs_next_changed(procs), P);
	CHECK_EQ(procs_next_changed(procs), 0);
	CHECK_EQ(mappings_of(P, 200), 0x0103);
	CHECK_EQ(procs_mappings(procs, procs_at(procs, P, 200)), 2);
	/* A fork is none. */
	procs_fork(procs, 200, P + 1, P);
	CHECK_EQ(procs_next_changed(procs), 0);
	CHECK_EQ(mappings_of(P + 1, 300), 0x0103);
	map(300, P + 1, 0x5000, "/c");
	procs_exec(procs, 400, P, "y");
	CHECK_EQ(procs_next_changed(procs), P);
	CHECK_EQ(procs_next_changed(procs), P + 1);
	CHECK_EQ(procs_next_changed(procs), 0);
	CHECK_EQ(mappings_of(P, 500), 0);
	CHECK_EQ(mappings_of(P + 2, 500), 0);
	/* What has gone in between is not told. */
	map(600, P + 1, 0x7000, "/d");
	procs_exit(procs, 601, P + 1);
	procs_forget(procs, 1000);
	CHECK_EQ(procs_next_changed(procs), 0);
	procs_free(procs);
	images_free(images);
}

int main(void)
{
	RUN(exit_right_after_exec);
	RUN(changes_are_told_once);
	return TEST_END();
}
