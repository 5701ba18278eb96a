/* SPDX-License-Identifier: MIT */
/* Options of record, alloc and top that exclude or need one another. */
#include <string.h>

#include "commands/record_options.h"
#include "test.h"

#define WORDS 64

/* Whether the rules say @part of the words in @given; "" where none is broken. */
static int says(const char *given, const char *part)
{
	char words[WORDS], *rest = words;
	struct cli_given g = { 0 };
	struct error e = { 0 };

	snprintf(words, sizeof(words), "%s", given);
	while (rest)
		cli_given_add(&g, strsep(&rest, " "));
	cli_rules_check(record_rules, &g, &e);
	return *part ? strstr(e.text, part) != NULL : !*e.text;
}

static void one_of(void)
{
	CHECK(says("record pid", ""));
	CHECK(says("record pid pid", ""));
	CHECK(says("record pid all", "one target"));
	CHECK(says("top comm cgroup", "one target"));
	CHECK(says("record frequency period", "-F and -c"));
	CHECK(says("record user kernel", "-U and -K"));
	CHECK(says("record off-cpu wall", "has both"));
}

static void needs(void)
{
	CHECK(says("record wakers", "go with --off-cpu or --wall"));
	CHECK(says("record wakers wall", ""));
	CHECK(says("record max-overhead", "ebprof alloc -p"));
	CHECK(says("alloc pid max-overhead", ""));
	CHECK(says("top leaks", "top --alloc"));
	CHECK(says("alloc", "-p PID"));
	CHECK(says("alloc page-faults", ""));
	CHECK(says("alloc COMMAND", ""));
	CHECK(says("alloc all COMMAND", "-p PID"));
	CHECK(says("alloc page-faults all COMMAND", ""));
}

static void excludes(void)
{
	CHECK(says("alloc pid delay", "leave out -e"));
	CHECK(says("alloc COMMAND max-overhead", "a command"));
	CHECK(says("alloc pid COMMAND max-overhead", ""));
	CHECK(says("alloc COMMAND allocator", "usual names"));
	CHECK(says("top alloc pid max-overhead", "not slices"));
	CHECK(says("alloc page-faults leaks", "leave out --alloc"));
	CHECK(says("top alloc page-faults wall", "leave out -e"));
	CHECK(says("alloc page-faults period", ""));
}

int main(void)
{
	RUN(one_of);
	RUN(needs);
	RUN(excludes);
	return TEST_END();
}
