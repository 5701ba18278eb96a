/* SPDX-License-Identifier: MIT */
#include "symbols/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "elf_image.h"
#include "symbols/jit_ranges.h"
#include "test.h"

#define LOAD(text) perf_map_open(memory_file(text, sizeof(text) - 1))

static const char *at(const struct symbol_source *s, uint64_t address)
{
	static char text[8192], name[6000];
	struct source_function f;

	if (!s || s->ops->find(s, address, &f) || s->ops->name(s, f.token, name, sizeof(name)))
		return "-";
	snprintf(text, sizeof(text), "%s+0x%llx", name, (unsigned long long)(address - f.start));
	return text;
}

TEST(lines)
{
	struct symbol_source *s = LOAD(
		"7f0000001000 20 plain\n"
		"0x7f0000002000 0x10 with prefixes\n"
		"7F000000300A fF LazyCompile:*name with  blanks /a/b c.js:1\n"
		"7f0000004000\t8\ttabs\n"
		"7f0000005000 8 windows\r\n"
		"  7f0000006000   8   indented\n");

	CHECK_STR(at(s, 0x7f0000001000), "plain+0x0");
	CHECK_STR(at(s, 0x7f000000101f), "plain+0x1f");
	CHECK_STR(at(s, 0x7f0000001020), "-");
	CHECK_STR(at(s, 0x7f0000000fff), "-");
	CHECK_STR(at(s, 0x7f000000200f), "with prefixes+0xf");
	CHECK_STR(at(s, 0x7f0000002010), "-");
	CHECK_STR(at(s, 0x7f0000003108), "LazyCompile:*name with  blanks /a/b c.js:1+0xfe");
	CHECK_STR(at(s, 0x7f0000004000), "tabs+0x0");
	CHECK_STR(at(s, 0x7f0000005000), "windows+0x0");
	CHECK_STR(at(s, 0x7f0000006000), "indented+0x0");
	CHECK_STR(at(s, 0), "-");
	CHECK_STR(at(s, UINT64_MAX), "-");
	CHECK_EQ(perf_map_skipped(s), 0);
	symbol_source_free(s);
}

TEST(malformed_lines_are_counted)
{
	struct symbol_source *s = LOAD(
		"\n1000\n1000 10\n1000 10 \n1000 10\t \n 1000\nxyz 10 a\n1000 xyz "
		"a\n10000000000000000 10 too_large\n"
		"1000 10000000000000000 a\n1000 0 empty\n1000 100000000 "
		"four_gigabytes\nffffffffffffff00 101 past_the_end\n"
		"0x 10 a\n1000,10 a\n1000 10x a\n-1000 10 a\n1000 -10 a\n1000 10 \0a\n"
		"ffffffffffffff00 ff last\n2000 10 nul\0inside\n3000 10 good\n4000 10 not_ended");

	CHECK_STR(at(s, 0x1000), "-");
	CHECK_STR(at(s, 0xfffffffffffffffe), "last+0xfe");
	CHECK_STR(at(s, UINT64_MAX), "-");
	CHECK_STR(at(s, 0x2000), "nul+0x0");
	CHECK_STR(at(s, 0x3000), "good+0x0");
	CHECK_STR(at(s, 0x4000), "-");
	CHECK_EQ(perf_map_skipped(s), 18);
	symbol_source_free(s);
}

TEST(later_lines_win)
{
	struct symbol_source *s = LOAD(
		"1000 100 old\n1040 20 inner\n"		/* cut in three */
		"2000 10 first\n2000 10 second\n"	/* the same place */
		"3000 10 a\n3020 10 b\n3000 40 over_both\n"
		"4000 40 left\n4020 40 right\n"
		"5020 40 right2\n5000 40 left2\n");

	CHECK_STR(at(s, 0x103f), "old+0x3f");
	CHECK_STR(at(s, 0x1040), "inner+0x0");
	CHECK_STR(at(s, 0x105f), "inner+0x1f");
	CHECK_STR(at(s, 0x1060), "old+0x60");
	CHECK_STR(at(s, 0x10ff), "old+0xff");
	CHECK_STR(at(s, 0x1100), "-");
	CHECK_STR(at(s, 0x200f), "second+0xf");
	CHECK_STR(at(s, 0x3000), "over_both+0x0");
	CHECK_STR(at(s, 0x3025), "over_both+0x25");
	CHECK_STR(at(s, 0x3039), "over_both+0x39");
	CHECK_STR(at(s, 0x401f), "left+0x1f");
	CHECK_STR(at(s, 0x4020), "right+0x0");
	CHECK_STR(at(s, 0x405f), "right+0x3f");
	CHECK_STR(at(s, 0x503f), "left2+0x3f");
	CHECK_STR(at(s, 0x5040), "right2+0x20");
	symbol_source_free(s);
}

/* Ranges at random against the plain rule: the last one that covers an address. */
TEST(cutting_against_a_plain_search)
{
	uint64_t seed = 1;
	int wrong = 0;

	for (int round = 0; round < 200; round++) {
		struct jit_ranges r = { 0 };
		uint32_t owner[1024];

		memset(owner, 0xff, sizeof(owner));
		for (uint32_t i = 0; i < 60; i++) {
			uint64_t start, size;

			seed = seed * 6364136223846793005u + 1442695040888963407u;
			start = seed >> 40 & 1023;
			size = 1 + (seed >> 50 & (round % 2 ? 511 : 31));
			if (size > 1024 - start)
				size = 1024 - start;
			CHECK_EQ(jit_ranges_add(&r, start, size, i), 0);
			for (uint64_t a = start; a < start + size; a++)
				owner[a] = i;
			if (i % 7 == 0)
				jit_ranges_cut(&r);
		}
		jit_ranges_cut(&r);
		for (uint64_t a = 0; a < 1024; a++) {
			const struct jit_range *found = jit_ranges_find(&r, a);

			wrong += (found ? found->payload : UINT32_MAX) != owner[a];
		}
		for (size_t i = 1; i < r.n; i++)
			wrong += r.starts[i] < r.starts[i - 1] + r.pieces[i - 1].size;
		jit_ranges_free(&r);
	}
	CHECK_EQ(wrong, 0);
}

TEST(what_is_hidden_takes_no_room)
{
	struct jit_ranges r = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < JIT_RANGES_MAX + 1000; i++)
		err |= jit_ranges_add(&r, 0x1000 + i % 1000 * 16, 16, i);
	CHECK_EQ(err, 0);
	jit_ranges_cut(&r);
	CHECK_EQ(r.all.n, 1000);
	CHECK_EQ(jit_ranges_find(&r, 0x1008)->payload, (JIT_RANGES_MAX + 999) / 1000 * 1000);
	jit_ranges_free(&r);
}

TEST(a_file_that_grows)
{
	int fd = memory_file("1000 10 one\n2000 10 tw", 22);
	struct symbol_source *s = perf_map_open(fd);
	struct source_function before, after;

	CHECK_STR(at(s, 0x1000), "one+0x0");
	CHECK_STR(at(s, 0x2000), "-");
	CHECK_EQ(s->ops->find(s, 0x1000, &before), 0);
	CHECK(pwrite(fd, "o\n1008 10 three\n", 16, 22) == 16);
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x2000), "two+0x0");
	CHECK_STR(at(s, 0x1007), "one+0x7");
	CHECK_STR(at(s, 0x1008), "three+0x0");
	CHECK_EQ(s->ops->find(s, 0x1000, &after), 0);
	CHECK_EQ(before.token, after.token);
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x2000), "two+0x0");
	/*
	 * Begun anew, shorter; then as long as before. What the old one said holds where the new
	 * one is silent.
	 */
	CHECK(!ftruncate(fd, 0) && pwrite(fd, "1000 10 four\n", 13, 0) == 13);
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x1000), "four+0x0");
	CHECK_STR(at(s, 0x2000), "two+0x0");
	CHECK(pwrite(fd, "1000 10 five\n", 13, 0) == 13);
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x1000), "five+0x0");
	CHECK(!ftruncate(fd, 0));
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x1000), "five+0x0");
	CHECK(pwrite(fd, "1000 10 six\n", 12, 0) == 12);
	CHECK_EQ(perf_map_refresh(s), 0);
	CHECK_STR(at(s, 0x1000), "six+0x0");
	symbol_source_free(s);
}

TEST(empty_and_unreadable)
{
	struct symbol_source *s = LOAD("");

	CHECK(s && perf_map_refresh(s) == 0);
	CHECK_STR(at(s, 0), "-");
	symbol_source_free(s);
	s = perf_map_open(open("/proc/self", O_RDONLY | O_CLOEXEC));
	CHECK(!s && errno == EISDIR);
}

/* Lines and names longer than what is kept, and at a chunk's edge. */
TEST(long_lines)
{
	size_t size = 2000000;
	char *text = malloc(size), *p = text, name[6000];
	struct symbol_source *s;

	p += sprintf(p, "1000 10 ");
	memset(p, 'x', 5000);
	p += 5000;
	p += sprintf(p, "\n2000 10 ");
	memset(p, 'y', 700000);
	p += 700000;
	p += sprintf(p, "\n");
	for (int i = 0; i < 20000; i++)
		p += sprintf(p, "%x 8 function_%d\n", 0x10000 + 8 * i, i);
	s = perf_map_open(memory_file(text, (size_t)(p - text)));
	snprintf(name, sizeof(name), "%.4095s+0x0", text + 8);
	CHECK_STR(at(s, 0x1000), name);
	CHECK_STR(at(s, 0x2000), "-");
	for (int i = 0; i < 20000 && test_ok; i++) {
		snprintf(name, sizeof(name), "function_%d+0x1", i);
		CHECK_STR(at(s, (uint64_t)(0x10001 + 8 * i)), name);
	}
	CHECK_EQ(perf_map_skipped(s), 1);
	symbol_source_free(s);
	free(text);
}

int main(void)
{
	RUN(lines);
	RUN(malformed_lines_are_counted);
	RUN(later_lines_win);
	RUN(cutting_against_a_plain_search);
	RUN(what_is_hidden_takes_no_room);
	RUN(a_file_that_grows);
	RUN(empty_and_unreadable);
	RUN(long_lines);
	return TEST_END();
}
