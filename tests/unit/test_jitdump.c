/* SPDX-License-Identifier: MIT */
#include "symbols/jitdump.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "elf_image.h"
#include "jit_image.h"
#include "test.h"

#define PID 4242

static struct jit_image image;

static struct symbol_source *load(void)
{
	return jitdump_open(memory_file(image.bytes, image.size), PID);
}

/* "name+offset", and " file:line" where that is known. */
static const char *at(struct symbol_source *s, uint64_t address)
{
	static char text[8192], name[6000], file[1000];
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	int n;

	if (!s || s->ops->find(s, address, &f) || s->ops->name(s, f.token, name, sizeof(name)))
		return "-";
	n = s->ops->frames(s, address, frames);
	if (n != 1) {
		snprintf(text, sizeof(text), "%s+0x%llx", name,
			 (unsigned long long)(address - f.start));
		return text;
	}
	if (frames[0].function != f.token)
		return "frame of another function";
	snprintf(file, sizeof(file), "?");
	if (frames[0].file != SOURCE_NO_FILE && s->ops->file(s, frames[0].file, file, sizeof(file)))
		return "no file";
	snprintf(text, sizeof(text), "%s+0x%llx %s:%u", name,
		 (unsigned long long)(address - f.start), file, frames[0].line);
	return text;
}

TEST(loads_and_moves)
{
	struct symbol_source *s;
	struct source_function f, g;

	jit_image_begin(&image, PID);
	jit_image_load(&image, PID, 0x10000, 0x100, 1, "one");
	jit_image_load(&image, PID, 0x20000, 0x80, 2, "two with blanks");
	jit_image_move(&image, PID, 0x10000, 0x30000, 0x100, 1);
	jit_image_load(&image, PID, 0x10040, 0x10, 3, "three");
	jit_image_move(&image, PID, 0x10000, 0x50000, 0x100, 9);	/* nobody's */
	jit_image_move(&image, PID, 0x10000, 0x60000, 0x108, 1);	/* another size */
	jit_image_load(&image, PID + 1, 0x70000, 0x10, 4, "of a child");
	jit_image_load(&image, PID, 0x80000, 0, 5, "empty");
	jit_image_load(&image, PID, 0x80000, 0x10, 6, "");
	s = load();
	CHECK_STR(at(s, 0x10000), "one+0x0");
	CHECK_STR(at(s, 0x1003f), "one+0x3f");
	CHECK_STR(at(s, 0x10040), "three+0x0");
	CHECK_STR(at(s, 0x10050), "one+0x50");
	CHECK_STR(at(s, 0x10100), "-");
	CHECK_STR(at(s, 0x2007f), "two with blanks+0x7f");
	CHECK_STR(at(s, 0x300ff), "one+0xff");
	CHECK_STR(at(s, 0x50000), "-");
	CHECK_STR(at(s, 0x60000), "-");
	CHECK_STR(at(s, 0x70000), "-");
	CHECK_STR(at(s, 0x80000), "-");
	CHECK(!s->ops->find(s, 0x10000, &f) && !s->ops->find(s, 0x30000, &g) && f.token == g.token);
	symbol_source_free(s);
}

TEST(lines)
{
	struct symbol_source *s;

	jit_image_begin(&image, PID);
	jit_image_debug(&image, 0x10000, 5);
	jit_image_line(&image, 0x10080, 9, "/src/b.c");
	jit_image_line(&image, 0x10004, 7, "/src/a.c");
	jit_image_line(&image, 0x10010, 8, "\xff");
	jit_image_line(&image, 0x10020, 3, "");
	jit_image_line(&image, 0x10100, 10, "/src/a.c");
	jit_image_end(&image);
	/* of another thread, between the two */
	jit_image_load(&image, PID, 0x20000, 0x80, 2, "other");
	jit_image_load(&image, PID, 0x10000, 0x100, 1, "one");
	jit_image_move(&image, PID, 0x10000, 0x30000, 0x100, 1);
	jit_image_load(&image, PID, 0x40000, 0x100, 3, "no lines");
	s = load();
	CHECK_STR(at(s, 0x10003), "one+0x3");
	CHECK_STR(at(s, 0x10004), "one+0x4 /src/a.c:7");
	CHECK_STR(at(s, 0x1000f), "one+0xf /src/a.c:7");
	CHECK_STR(at(s, 0x10010), "one+0x10 /src/a.c:8");
	CHECK_STR(at(s, 0x10025), "one+0x25 ?:3");
	CHECK_STR(at(s, 0x100ff), "one+0xff /src/b.c:9");
	CHECK_STR(at(s, 0x30081), "one+0x81 /src/b.c:9");
	CHECK_STR(at(s, 0x20004), "other+0x4");
	CHECK_STR(at(s, 0x40004), "no lines+0x4");
	symbol_source_free(s);
}

/* One record of two lines for code of 0x100 bytes; the second entry is @address, @file. */
static void spoilt(const char *what, const char *name, uint64_t first, uint64_t address,
		   const char *file, uint64_t n, size_t more, const char *expected)
{
	struct symbol_source *s;

	jit_image_begin(&image, PID);
	jit_image_debug(&image, 0x10000, n);
	jit_image_line(&image, first, 7, "/src/a.c");
	jit_image_line(&image, address, 8, file);
	for (size_t i = 0; i < more; i++)
		jit_image_bytes(&image, "", 1);
	jit_image_end(&image);
	jit_image_load(&image, PID, 0x10000, 0x100, 1, name);
	s = load();
	if (strcmp(at(s, 0x10050), expected)) {
		printf("%s: %s\n", what, at(s, 0x10050));
		CHECK(!"the lines are as expected");
	}
	symbol_source_free(s);
}

TEST(lines_that_cannot_be_right)
{
	char huge[5000];

	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	spoilt("right", "f", 0x10000, 0x10010, "b", 2, 0, "f+0x50 b:8");
	spoilt("padded", "f", 0x10000, 0x10010, "b", 2, 7, "f+0x50 b:8");
	spoilt("before the code", "f", 0x10000, 0xffff, "b", 2, 0, "f+0x50");
	spoilt("behind the code", "f", 0x10000, 0x10101, "b", 2, 0, "f+0x50");
	spoilt("more than there are", "f", 0x10000, 0x10010, "b", 3, 0, "f+0x50");
	spoilt("endless", "f", 0x10000, 0x10010, "b", UINT64_MAX, 0, "f+0x50");
	spoilt("fewer than there are", "f", 0x10000, 0x10010, "b", 1, 0, "f+0x50");
	spoilt("none", "f", 0x10000, 0x10010, "b", 0, 0, "f+0x50");
	spoilt("freed memory", "f", 0x10000, 0x10010, "b\003", 2, 0, "f+0x50");
	spoilt("a name of 5 KB", "f", 0x10000, 0x10010, huge, 2, 0, "f+0x50");
	/* V8 places them an ELF header late, and those of baseline code nowhere. */
	spoilt("V8, optimized", "JS:*f a.js:1:2", 0x10040, 0x10090, "b", 2, 0,
	       "JS:*f a.js:1:2+0x50 b:8");
	spoilt("V8, past the code", "JS:*f a.js:1:2", 0x10040, 0x10140, "b", 2, 0,
	       "JS:*f a.js:1:2+0x50 /src/a.c:7");
	spoilt("V8, not late", "JS:*f a.js:1:2", 0x10000, 0x10051, "b", 2, 0,
	       "JS:*f a.js:1:2+0x50 /src/a.c:7");
	spoilt("V8, baseline", "JS:^f a.js:1:2", 0x10040, 0x10050, "b", 2, 0,
	       "JS:^f a.js:1:2+0x50");
}

TEST(headers)
{
	static const struct {
		size_t offset;
		uint32_t value;
		int err;
	} bad[] = {
		{ 0, 0x4454694a, ENOTSUP }, { 0, 0x46454c7f, EBADMSG }, { 4, 2, ENOTSUP },
		{ 8, 39, EBADMSG },	    { 8, UINT32_MAX, EBADMSG }, { 20, PID + 1, ESTALE },
	};
	struct symbol_source *s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		jit_image_begin(&image, PID);
		jit_image_load(&image, PID, 0x10000, 0x100, 1, "one");
		memcpy(image.bytes + bad[i].offset, &bad[i].value, sizeof(bad[i].value));
		s = load();
		CHECK(!s && errno == bad[i].err);
	}
	image.size = 39;
	CHECK(!load() && errno == EBADMSG);
	image.size = 0;
	CHECK(!load() && errno == EBADMSG);
	/* A longer header of a later revision. */
	jit_image_begin(&image, PID);
	image.bytes[8] = 48;
	jit_image_u64(&image, 0);
	jit_image_load(&image, PID, 0x10000, 0x100, 1, "one");
	s = load();
	CHECK_STR(at(s, 0x10000), "one+0x0");
	symbol_source_free(s);
}

TEST(other_records_are_skipped)
{
	struct symbol_source *s;

	jit_image_begin(&image, PID);
	for (uint32_t id = 3; id < 9; id++) {
		jit_image_record(&image, id);
		jit_image_bytes(&image, "whatever", id);
		jit_image_end(&image);
	}
	jit_image_record(&image, 0);	/* too short for what they are */
	jit_image_end(&image);
	jit_image_record(&image, 1);
	jit_image_end(&image);
	jit_image_record(&image, 2);
	jit_image_end(&image);
	jit_image_load(&image, PID, 0x10000, 0x100, 1, "one");
	/* A name that does not end in its record, though it does in the file. */
	jit_image_load(&image, PID, 0x20000, 0x2, 1, "long name");
	image.bytes[image.record + 4] = 60;
	image.size = image.record + 60;
	jit_image_load(&image, PID, 0x30000, 0x10, 1, "three");
	s = load();
	CHECK_STR(at(s, 0x10000), "one+0x0");
	CHECK_STR(at(s, 0x20000), "-");
	CHECK_STR(at(s, 0x30000), "three+0x0");
	symbol_source_free(s);
}

TEST(long_names_are_cut)
{
	char name[5001], expected[4200];
	struct symbol_source *s;

	memset(name, 'n', 5000);
	name[5000] = '\0';
	jit_image_begin(&image, PID);
	jit_image_load(&image, PID, 0x10000, 0x100, 1, name);
	s = load();
	snprintf(expected, sizeof(expected), "%.4095s+0x0", name);
	CHECK_STR(at(s, 0x10000), expected);
	symbol_source_free(s);
}

/* Every length that the file can have while it is written. */
TEST(a_file_that_grows)
{
	struct symbol_source *s = NULL;
	int fd;

	jit_image_begin(&image, PID);
	jit_image_debug(&image, 0x10000, 1);
	jit_image_line(&image, 0x10000, 7, "/src/a.c");
	jit_image_end(&image);
	jit_image_load(&image, PID, 0x10000, 0x10, 1, "one");
	jit_image_move(&image, PID, 0x10000, 0x20000, 0x10, 1);
	fd = memory_file(image.bytes, 40);
	s = jitdump_open(fd, PID);
	for (size_t n = 40; n < image.size && test_ok; n++) {
		CHECK_EQ(jitdump_refresh(s), 0);
		CHECK_STR(at(s, 0x10000), n < image.record ? "-" : "one+0x0 /src/a.c:7");
		CHECK_STR(at(s, 0x20000), "-");
		CHECK(pwrite(fd, image.bytes + n, 1, (off_t)n) == 1);
	}
	CHECK_EQ(jitdump_refresh(s), 0);
	CHECK_STR(at(s, 0x20001), "one+0x1 /src/a.c:7");
	symbol_source_free(s);
}

/* Records whose length cannot be: the reading ends there, with what there was. */
TEST(damaged_records)
{
	static const uint32_t sizes[] = { 0, 1, 15, UINT32_MAX, 1000000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct symbol_source *s;

		jit_image_begin(&image, PID);
		jit_image_load(&image, PID, 0x10000, 0x10, 1, "one");
		jit_image_load(&image, PID, 0x20000, 0x10, 2, "two");
		memcpy(image.bytes + image.record + 4, &sizes[i], sizeof(sizes[i]));
		jit_image_load(&image, PID, 0x30000, 0x10, 3, "three");
		s = load();
		CHECK_STR(at(s, 0x10000), "one+0x0");
		CHECK_STR(at(s, 0x20000), "-");
		CHECK_STR(at(s, 0x30000), "-");
		CHECK(s && jitdump_refresh(s) == 0);
		symbol_source_free(s);
	}
}

int main(void)
{
	RUN(loads_and_moves);
	RUN(lines);
	RUN(lines_that_cannot_be_right);
	RUN(headers);
	RUN(other_records_are_skipped);
	RUN(long_names_are_cut);
	RUN(a_file_that_grows);
	RUN(damaged_records);
	return TEST_END();
}
