/* SPDX-License-Identifier: MIT */
#include "symbols/perf_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

static struct symbol_source *open_text(const char *text, size_t size)
{
	int fd = memfd_create("map", 0);
	struct symbol_source *s;

	CHECK_EQ(write(fd, text, size), (ssize_t)size);
	s = perf_map_open(fd);
	close(fd);
	return s;
}

static struct symbol_source *map_of(const char *text)
{
	return open_text(text, strlen(text));
}

/* The name of @address, or "". */
static const char *name_of(struct symbol_source *s, uint64_t address)
{
	static char name[64];
	struct source_function f;

	*name = '\0';
	if (s && !s->ops->find(s, address, &f))
		CHECK_EQ(s->ops->name(s, f.token, name, sizeof(name)), 0);
	return name;
}

TEST(lines)
{
	struct symbol_source *s = map_of("1000 10 first\n0x2000 0x20 Lazy: a b /x.js:1\nffffffffff600000 1 TOP  \n");

	CHECK_STR(name_of(s, 0xfff), "");
	CHECK_STR(name_of(s, 0x1000), "first");
	CHECK_STR(name_of(s, 0x100f), "first");
	CHECK_STR(name_of(s, 0x1010), "");
	CHECK_STR(name_of(s, 0x201f), "Lazy: a b /x.js:1");
	CHECK_STR(name_of(s, 0xffffffffff600000), "TOP  ");
	symbol_source_free(s);
}

TEST(what_is_no_line)
{
	static const char bad[] = "\n \nx 1 a\n1000\n1000 10\n1000 10 \n1000 0 zero\n11112222333344445 1 long\n"
				  "ffffffffffffffff 2 wraps\n1000 1g hex\n0x 1 none\n";
	struct symbol_source *s;

	errno = 0;
	CHECK(map_of("") == NULL && errno == ENODATA);
	CHECK(map_of(bad) == NULL && errno == ENODATA);
	CHECK(map_of("1000 10 not written to its end") == NULL);
	s = open_text("1000 10 a\0b\n2000 10 good\n3000 10 un", 35);
	CHECK_STR(name_of(s, 0x1000), "a");
	CHECK_STR(name_of(s, 0x2000), "good");
	CHECK_STR(name_of(s, 0x3000), "");
	symbol_source_free(s);
}

/* Memory that was used again: what was written last holds, wherever it begins. */
TEST(later_lines)
{
	struct symbol_source *s = map_of("1000 100 old\n1000 80 new\n1040 10 inner\n2040 10 early\n2000 100 late\n");

	CHECK_STR(name_of(s, 0x1000), "new");
	CHECK_STR(name_of(s, 0x1048), "inner");
	CHECK_STR(name_of(s, 0x1050), "new");
	CHECK_STR(name_of(s, 0x1080), "");
	CHECK_STR(name_of(s, 0x2048), "late");
	symbol_source_free(s);
}

TEST(long_names_are_cut)
{
	char text[300] = "1000 10 ", name[8];
	struct source_function f;
	struct symbol_source *s;

	memset(text + 8, 'n', 280);
	strcat(text, "\n");
	s = map_of(text);
	CHECK_EQ(s->ops->find(s, 0x1005, &f), 0);
	CHECK_EQ(s->ops->name(s, f.token, name, sizeof(name)), 0);
	CHECK_STR(name, "nnnnnnn");
	CHECK_EQ(f.start, 0x1000);
	symbol_source_free(s);
}

int main(void)
{
	RUN(lines);
	RUN(what_is_no_line);
	RUN(later_lines);
	RUN(long_names_are_cut);
	return TEST_END();
}
