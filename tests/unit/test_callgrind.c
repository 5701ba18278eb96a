/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "unit/stacks.h"

/* What stands in the file behind its header's "summary:" line. */
static char *body(const struct profile *p, const char *from)
{
	char *text = stacks_output(p, "callgrind", NULL), *at = text ? strstr(text, from) : NULL;

	if (at)
		memmove(text, at, strlen(at) + 1);
	return text;
}

#define CHECK_BODY(p, from, expected) do { \
	char *body_ = body(p, from); \
	CHECK_STR(body_, expected); \
	free(body_); \
} while (0)

/* Who calls each other is not one function that is on the stack twice. */
TEST(levels_count_one_function_each)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 1, 0, "x"), "app!a|app!b|app!a|app!b", 3);
	CHECK_BODY(p, "summary",
		"summary: 3\n\n"
		"ob=(1) [thread]\nfl=(1) [thread]\nfn=(1) x\n"
		"cob=(2) app\ncfi=(2) ?\?? (app)\ncfn=(2) a\ncalls=1 0\n0 3\n\n"
		"ob=(2)\nfl=(2)\nfn=(2)\ncob=(2)\ncfi=(2)\ncfn=(3) b\ncalls=1 0\n0 3\n\n"
		"ob=(2)\nfl=(2)\nfn=(3)\ncob=(2)\ncfi=(2)\ncfn=(4) a'2\ncalls=1 0\n0 3\n\n"
		"ob=(2)\nfl=(2)\nfn=(4)\ncob=(2)\ncfi=(2)\ncfn=(5) b'2\ncalls=1 0\n0 3\n\n"
		"ob=(2)\nfl=(2)\nfn=(5)\n0 3\n\n"
		"totals: 3\n");
	profile_free(p);
}

/* A name that looks like a level of recursion, and the level that it looks like. */
TEST(names_that_look_like_levels)
{
	struct profile *p = profile_new();
	char *text;

	stacks_add(p, stacks_thread(p, 1, 0, "x"), "app!a|app!a|app!a'2|app!'a|app!b'", 1);
	text = body(p, "fn=");
	CHECK(strstr(text, ") a\n") && strstr(text, ") a'2\n") && strstr(text, ") a'2'1\n"));
	CHECK(strstr(text, ") 'a\n") && strstr(text, ") b'\n"));
	free(text);
	profile_free(p);
}

/* One name in two modules is two functions, whatever threads and processes call it. */
TEST(modules_and_threads)
{
	struct profile *p = profile_new();
	char *text;

	profile_meta(p)->per_thread = 1;
	stacks_add(p, stacks_thread(p, 1, 5, " x "), "one!f|two!f|@", 1);
	text = body(p, "fn=");
	CHECK(strstr(text, "fn=(1) _x -1/5\n"));
	CHECK(strstr(text, "cfi=(2) ?\?? (one)\ncfn=(2) f\n"));
	CHECK(strstr(text, "cfi=(3) ?\?? (two)\ncfn=(3) f\n"));
	CHECK(strstr(text, "cob=(4) ?\??\ncfi=(4) ?\??\ncfn=(4) [unknown]\n"));
	free(text);
	profile_free(p);
}

/* The type that is shown comes first; events are words of their own. */
TEST(types_are_events)
{
	struct profile *p = profile_new();
	uint32_t sample, type;

	profile_set_type(p, 0, "wall time", "nano seconds");
	profile_add_type(p, "wall time", "count");
	type = profile_add_type(p, "9lives", "");
	sample = profile_sample(p, stacks_thread(p, 1, 0, "x"), 0, 0);
	for (uint32_t i = 0; i < 3; i++)
		profile_count(p, sample, i, UINT64_MAX - i);
	profile_show(p, type);
	CHECK_BODY(p, "positions",
		"positions: line\n"
		"event: _lives : 9lives ()\nevent: wall_time_0 : wall time (nano seconds)\n"
		"event: wall_time_1 : wall time (count)\n"
		"events: _lives wall_time_0 wall_time_1\n"
		"summary: 18446744073709551613 18446744073709551615 18446744073709551614\n\n"
		"ob=(1) [thread]\nfl=(1) [thread]\nfn=(1) x\n"
		"0 18446744073709551613 18446744073709551615 18446744073709551614\n\n"
		"totals: 18446744073709551613 18446744073709551615 18446744073709551614\n");
	profile_free(p);
}

int main(void)
{
	RUN(levels_count_one_function_each);
	RUN(names_that_look_like_levels);
	RUN(modules_and_threads);
	RUN(types_are_events);
	return TEST_END();
}
