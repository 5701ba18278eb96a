/* SPDX-License-Identifier: MIT */
/* Files of images that nobody maps any more are closed, in time; those of others stay open. */
#include "unit/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "elf_image.h"
#include "proc/procs.h"
#include "session/unmapped.h"

/* PIDs from here on are above PID_MAX_LIMIT: they are in no /proc */
#define P	(1 << 28)
#define SECOND	1000000000ull
#define STEP	(5 * SECOND)
#define ROUNDS	600
#define MOST	2000		/* images in a test */

static char folder[] = "/tmp/ebprof-unmapped-XXXXXX";
static struct elf_image bytes;

struct machine {
	struct images *images;
	struct procs *procs;
	struct unmapped *unmapped;
	uint64_t now;
	unsigned char due[MOST];
};

static void begin(struct machine *m)
{
	memset(m, 0, sizeof(*m));
	m->images = images_new();
	m->procs = procs_new(m->images, NULL);
	m->unmapped = unmapped_new();
	m->now = SECOND;
}

static void end(struct machine *m)
{
	unmapped_free(m->unmapped);
	procs_free(m->procs);
	images_free(m->images);
}

static const char *path_of(int number)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%d", folder, number);
	return path;
}

/* Process @pid begins to run a new file. Its image. */
static uint32_t run(struct machine *m, int number, pid_t pid)
{
	const char *path = path_of(number);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);
	struct image_key key = { .path = path, .start = 0x1000, .end = 0x2000 };
	struct stat st;

	CHECK_EQ(write(fd, bytes.bytes, bytes.size), bytes.size);
	CHECK_EQ(fstat(fd, &st), 0);
	close(fd);
	key.dev_major = major(st.st_dev);
	key.dev_minor = minor(st.st_dev);
	key.inode = st.st_ino;
	procs_exec(m->procs, m->now, pid, "new");
	procs_mmap(m->procs, m->now, pid, &key, 0);
	return images_get(m->images, pid, &key);
}

/* As the session does it, without a profile that has any of them. */
static size_t look(struct machine *m, uint64_t passed)
{
	unsigned char mapped[MOST] = { 0 };
	size_t n;

	m->now += passed;
	procs_forget(m->procs, m->now - SECOND);
	procs_mark_images(m->procs, mapped);
	n = unmapped_choose(m->unmapped, m->images, mapped, m->now, m->due);
	images_retire(m->images, m->due);
	images_reuse(m->images, m->due);
	return n;
}

static size_t descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST(a_deleted_file_is_closed)
{
	struct machine m;
	uint32_t lives, deleted, stays;

	begin(&m);
	lives = run(&m, 0, P);
	unlink(path_of(0));
	deleted = run(&m, 1, P + 1);
	unlink(path_of(1));
	stays = run(&m, 2, P + 2);
	CHECK_EQ(look(&m, STEP), 0);
	procs_exit(m.procs, m.now, P + 1);
	procs_exit(m.procs, m.now, P + 2);
	/* What frames still are under way? */
	CHECK_EQ(look(&m, 2 * SECOND), 0);
	CHECK_EQ(look(&m, UNMAPPED_SETTLED), 1);
	CHECK_EQ(m.due[deleted], 1);
	CHECK_EQ(images_at(m.images, deleted)->fd, -1);
	CHECK(images_at(m.images, lives)->fd >= 0);
	/* Somebody may run it again. */
	CHECK(images_at(m.images, stays)->fd >= 0);
	CHECK_EQ(look(&m, UNMAPPED_MAX_AGE), 1);
	CHECK_EQ(m.due[stays], 1);
	CHECK(images_at(m.images, lives)->fd >= 0);
	unlink(path_of(2));
	end(&m);
}

/* Each time that it is mapped counts. */
TEST(what_runs_now_and_then_stays_open)
{
	struct machine m;
	uint32_t image, again;
	struct image_key key;
	struct stat st;

	begin(&m);
	image = run(&m, 0, P);
	for (int i = 1; i < 10; i++) {
		procs_exit(m.procs, m.now, P + i - 1);
		for (int looks = 0; looks < 10; looks++)
			CHECK_EQ(look(&m, STEP), 0);
		CHECK_EQ(stat(path_of(0), &st), 0);
		key = (struct image_key){ .path = path_of(0),
					  .start = 0x1000,
					  .end = 0x2000,
					  .dev_major = major(st.st_dev),
					  .dev_minor = minor(st.st_dev),
					  .inode = st.st_ino };
		procs_exec(m.procs, m.now, P + i, "again");
		procs_mmap(m.procs, m.now, P + i, &key, 0);
		again = images_get(m.images, P + i, &key);
		CHECK_EQ(again, image);
		CHECK_EQ(look(&m, SECOND), 0);
	}
	unlink(path_of(0));
	end(&m);
}

/* Ever new programs, each run once; half of them stay where they are. */
TEST(descriptors_stay_flat)
{
	struct machine m;
	size_t before = descriptors(), most = 0;

	begin(&m);
	for (int i = 0; i < ROUNDS; i++) {
		run(&m, i, P + i);
		if (i % 2)
			unlink(path_of(i));
		procs_exit(m.procs, m.now + 1, P + i);
		look(&m, SECOND / 10);
		most = descriptors() - before > most ? descriptors() - before : most;
	}
	/* Of the last seconds those that were deleted, too. */
	CHECK(most >= UNMAPPED_KEPT / 2);
	CHECK(most <= UNMAPPED_KEPT + 80);
	CHECK(images_count(m.images) <= UNMAPPED_KEPT + 80);
	for (int i = 0; i < ROUNDS; i += 2)
		unlink(path_of(i));
	end(&m);
	CHECK_EQ(descriptors(), before);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	elf_image_begin(&bytes);
	elf_image_end(&bytes);
	RUN(a_deleted_file_is_closed);
	RUN(what_runs_now_and_then_stays_open);
	RUN(descriptors_stay_flat);
	rmdir(folder);
	return TEST_END();
}
