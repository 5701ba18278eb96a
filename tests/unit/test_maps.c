/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/maps_internal.h"

static int parse(char *buf, const char *line, struct maps_line *out)
{
	memset(out, 0, sizeof(*out));
	strcpy(buf, line);
	return maps_parse_line(buf, out);
}

TEST(parses_a_file)
{
	struct maps_line m;
	char buf[256];

	CHECK_EQ(parse(buf,
		       "559a8a345000-559a8a34b000 r-xp 00002000 fe:1f 247498                     "
		       "/usr/bin/head\n",
		       &m),
		 0);
	CHECK_EQ(m.start, 0x559a8a345000);
	CHECK_EQ(m.end, 0x559a8a34b000);
	CHECK_EQ(m.offset, 0x2000);
	CHECK_EQ(m.dev_major, 0xfe);
	CHECK_EQ(m.dev_minor, 0x1f);
	CHECK_EQ(m.inode, 247498);
	CHECK_EQ(m.executable, 1);
	CHECK_STR(m.path, "/usr/bin/head");
}

TEST(parses_what_has_no_file)
{
	struct maps_line m;
	char buf[256];

	CHECK_EQ(parse(buf, "7ffd1000-7ffd3000 rw-s 00000000 00:00 0 \n", &m), 0);
	CHECK_EQ(m.executable, 0);
	CHECK_STR(m.path, "");
	CHECK_EQ(parse(buf, "1000-2000 ---p 0 0:0 0", &m), 0);
	CHECK_STR(m.path, "");
	CHECK_EQ(parse(buf,
		       "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
		       "[vsyscall]",
		       &m),
		 0);
	CHECK_EQ(m.executable, 1);
	CHECK_STR(m.path, "[vsyscall]");
}

TEST(keeps_the_path_as_it_is)
{
	struct maps_line m;
	char buf[256];

	CHECK_EQ(parse(buf, "1000-2000 r-xp 0 0:0 5      /tmp/a  b\\012c \\040\\d (deleted)\n", &m),
		 0);
	CHECK_STR(m.path, "/tmp/a  b\nc \\040\\d (deleted)");
	CHECK_EQ(parse(buf, "1000-2000 r-xp 0 0:0 5 /x\\01", &m), 0);
	CHECK_STR(m.path, "/x\\01");
}

TEST(takes_the_greatest_numbers)
{
	struct maps_line m;
	char buf[256];

	CHECK_EQ(parse(buf, "0-ffffffffffffffff r-xp 0 ffffffff:ffffffff 18446744073709551615 /x",
		       &m),
		 0);
	CHECK(m.end == UINT64_MAX && m.inode == UINT64_MAX && m.dev_major == UINT32_MAX);
	CHECK_EQ(parse(buf, "1000-2000 r-xp ffffffffffffefff 0:0 1 /x", &m), 0);
}

TEST(refuses_what_is_not_a_line)
{
	static const char *const bad[] = {
		"",
		"\n",
		"1000",
		"1000-",
		"-2000 r-xp 0 0:0 0",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-x 0 0:0 0",
		"1000-2000 rxxp 0 0:0 0",
		"1000-2000 r-xq 0 0:0 0",
		"1000-2000  r-xp 0 0:0 0",
		"1000-2000 r-xp 0 0 0",
		"1000-2000 r-xp 0 0:0",
		"1000-2000 r-xp 0 0:0 x",
		"1000-2000 r-xp 0 0:0 0x",
		"1000-2000 r-xp 0 100000000:0 0",
		"2000-2000 r-xp 0 0:0 0",
		"3000-2000 r-xp 0 0:0 0",
		"10000000000000000-20000000000000000 r-xp 0 0:0 0",
		"1000-2000 r-xp 10000000000000000 0:0 0",
		"1000-2000 r-xp 0 0:0 18446744073709551616",
		"1000-2000 r-xp fffffffffffff001 0:0 1",
		"+1000-2000 r-xp 0 0:0 0",
		"0x1000-2000 r-xp 0 0:0 0",
	};
	struct maps_line m;
	char buf[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (parse(buf, bad[i], &m) != -EINVAL)
			printf("accepted: %s\n", bad[i]);
		CHECK_EQ(parse(buf, bad[i], &m), -EINVAL);
	}
}

struct seen {
	uint64_t wanted, end, last;
	int n, found, ordered;
	const char *path;
};

static void see(const struct maps_line *line, void *arg)
{
	struct seen *s = arg;

	s->n++;
	s->ordered &= line->start >= s->last && line->executable;
	s->last = line->end;
	if (s->wanted >= line->start && s->wanted < line->end) {
		s->found++;
		s->end = line->end;
	}
}

TEST(reads_our_own)
{
	struct seen s = { .wanted = (uintptr_t)see, .ordered = 1 };

	CHECK_EQ(maps_for_each_executable(getpid(), see, &s), 0);
	CHECK_EQ(s.found, 1);
	CHECK(s.ordered);
	CHECK(s.n > 1);
}

/* Many lines: they straddle every edge of the chunks that are read. */
TEST(reads_thousands)
{
	enum { N = 5000 };
	size_t page = (size_t)getpagesize(), size = 2 * N * page;
	char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct seen before = { .ordered = 1 }, after = { .ordered = 1 };

	CHECK(p != MAP_FAILED);
	CHECK_EQ(maps_for_each_executable(getpid(), see, &before), 0);
	for (size_t i = 0; i < N; i++)
		CHECK_EQ(mprotect(p + 2 * i * page, page, PROT_READ | PROT_EXEC), 0);
	CHECK_EQ(maps_for_each_executable(getpid(), see, &after), 0);
	CHECK_EQ(after.n - before.n, N);
	CHECK(after.ordered);
	munmap(p, size);
}

/*
 * Every piece of one byte, then of all other lengths; a line longer than the buffer is left out
 * whole.
 */
TEST(reads_lines_in_pieces)
{
	static const char line[] = "1000-2000 r-xp 00000000 00:00 7   /some/file\n";
	enum { LINES = 2000, TEXT = LINES * (sizeof(line) - 1) };
	char *text = malloc(TEXT + 200001);
	struct seen s = { .wanted = 0x1800 };
	int p[2], status;

	for (int i = 0; i < LINES; i++)
		memcpy(text + (size_t)i * (sizeof(line) - 1), line, sizeof(line) - 1);
	/* The long line is in the middle, and ends like one that could be parsed. */
	memset(text + TEXT, 'x', 200000);
	memcpy(text + TEXT + 200000 - (sizeof(line) - 1), line, sizeof(line) - 1);
	CHECK(!pipe(p));
	if (!fork()) {
		for (size_t at = 0, n = 1; at < TEXT; at += n, n = n % 97 + 1)
			if (write(p[1], text + at, at + n > TEXT ? TEXT - at : n) < 0)
				_exit(1);
		_exit(write(p[1], text + TEXT, 200000) != 200000 ||
		      write(p[1], line, sizeof(line) - 1) != sizeof(line) - 1);
	}
	close(p[1]);
	CHECK_EQ(maps_read(p[0], see, &s), 0);
	CHECK_EQ(s.n, LINES + 1);
	CHECK_EQ(s.found, LINES + 1);
	wait(&status);
	CHECK_EQ(status, 0);
	CHECK_EQ(maps_read(p[0], see, &s), -ESRCH);
	close(p[0]);
	free(text);
}

TEST(tells_that_a_process_is_gone)
{
	struct seen s = { 0 };

	CHECK_EQ(maps_for_each_executable(1 << 30, see, &s), -ESRCH);
	CHECK_EQ(s.n, 0);
}

int main(void)
{
	RUN(parses_a_file);
	RUN(parses_what_has_no_file);
	RUN(keeps_the_path_as_it_is);
	RUN(takes_the_greatest_numbers);
	RUN(refuses_what_is_not_a_line);
	RUN(reads_our_own);
	RUN(reads_thousands);
	RUN(reads_lines_in_pieces);
	RUN(tells_that_a_process_is_gone);
	return TEST_END();
}
