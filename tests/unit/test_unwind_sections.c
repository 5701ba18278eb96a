/* SPDX-License-Identifier: MIT */
#include "unwind/sections.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "table_image.h"
#include "test.h"

/* bytes of a section: the largest of real files has 8 MB for 200 MB of code */
#define LARGE	(48u << 20)

static struct table_image image;

/* A file whose .eh_frame has one FDE, and @size bytes; sparse. */
static int file(size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct bytes s = { .n = 0 };
	size_t cie = add_cie(&s, 0, 16, BYTES(X86_INITIAL));

	add_fde(&s, cie, CODE, 0x100, BYTES(0x0e, 16));
	put(&s, 4, 0);
	image_begin(&image, EM_X86_64);
	image_frames(&image, ".eh_frame", &s);
	if (size)
		image.sections[1].sh_size = size;
	elf_file_free(image_end(&image));
	CHECK_EQ(write(fd, image.b, image.n), image.n);
	CHECK_EQ(ftruncate(fd, (off_t)(image.n + size)), 0);
	return fd;
}

/* What the row at @at of the code takes; it has to be found. */
static uint64_t work_of(struct unwind_sections *s, uint32_t id, int fd, uint64_t at)
{
	uint64_t before = unwind_sections_work(s);
	const struct cfi_section *section;
	struct cfi_row row;

	CHECK_EQ(unwind_sections_row(s, id, fd, IMAGE_CODE + at, &row, &section), 0);
	CHECK(row.cfa.kind == CFI_REGISTER && row.cfa.offset == 16);
	return unwind_sections_work(s) - before;
}

TEST(rows)
{
	struct unwind_sections *s = unwind_sections_new();
	const struct cfi_section *section;
	struct cfi_row row;
	int fd = file(0);

	work_of(s, 1, fd, 0);
	work_of(s, 1, fd, 0xff);
	CHECK_EQ(unwind_sections_row(s, 1, fd, IMAGE_CODE + 0x100, &row, &section), -ENOENT);
	CHECK_EQ(unwind_sections_row(s, 1, fd, 0, &row, &section), -ENOENT);
	CHECK_EQ(unwind_sections_row(s, 2, -1, IMAGE_CODE, &row, &section), -ENOENT);
	unwind_sections_free(s);
	close(fd);
}

/* A stack may go to and fro between large files: each is read once. */
TEST(large_files_stay)
{
	struct unwind_sections *s = unwind_sections_new();
	int fds[2] = { file(LARGE), file(LARGE) };

	for (uint32_t i = 0; i < 2; i++)
		CHECK(work_of(s, i, fds[i], 0) > LARGE);
	for (uint32_t i = 0; i < 100; i++)
		CHECK(work_of(s, i % 2, fds[i % 2], i) < 100);
	unwind_sections_free(s);
	close(fds[0]);
	close(fds[1]);
}

/* And between many. */
TEST(many_files_stay)
{
	enum { MANY = 32 };
	struct unwind_sections *s = unwind_sections_new();
	int fds[MANY];

	for (uint32_t i = 0; i < MANY; i++) {
		fds[i] = file(0);
		CHECK(work_of(s, i, fds[i], 0) > 1000);
	}
	for (uint32_t i = 0; i < 2 * MANY; i++)
		CHECK(work_of(s, i % MANY, fds[i % MANY], i) < 100);
	for (uint32_t i = 0; i < MANY; i++)
		close(fds[i]);
	unwind_sections_free(s);
}

int main(void)
{
	RUN(rows);
	RUN(large_files_stay);
	RUN(many_files_stay);
	return TEST_END();
}
