/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "profile/simplify.h"
#include "symbols/short_templates.h"
#include "unit/stacks.h"

static uint32_t function(struct profile *p, const char *name, const char *module,
			 enum frame_kind kind)
{
	return profile_function(p, profile_string(p, name), profile_string(p, module), kind);
}

/* main, which calls outer with what was inlined there, and shared names. */
static struct profile *made(void)
{
	struct profile *p = profile_new();
	uint32_t thread = stacks_thread(p, 1, 1, "x"), module = profile_module(p, "x", "/x", ""),
		 node, location;
	const struct line lines[] = {
		{ .function = function(p, "tiny<int>()", "x", FRAME_USER), .line = 3 },
		{ .function = function(p, "small<A<B> >()", "x", FRAME_USER), .line = 2 },
		{ .function = function(p, "outer<int>()", "x", FRAME_USER), .line = 1 },
	};

	location = profile_location(p, module, FRAME_USER, 0x10);
	profile_name_location(p, location, lines, 3, "");
	node = profile_node(p, 0, location);
	profile_add(p, thread, node, 2);
	stacks_add(p, thread, "x!outer<char>()", 3);
	stacks_add(p, thread, "[jit]!f<int>", 1);
	stacks_add(p, thread, "[unknown]", 1);
	return p;
}

TEST(inlined_functions)
{
	struct profile *p = made();

	CHECK_OUTPUT(p, "folded", NULL, "x;[unknown] 1\nx;f<int> 1\nx;outer<char>() 3\n"
		     "x;outer<int>();small<A<B> >();tiny<int>() 2\n");
	profile_drop_inlined(p);
	CHECK_OUTPUT(p, "folded", NULL,
		     "x;[unknown] 1\nx;f<int> 1\nx;outer<char>() 3\nx;outer<int>() 2\n");
	CHECK_EQ(profile_view(p).lines[profile_view(p).locations[0].first_line].line, 1);
	profile_drop_inlined(p);
	CHECK_OUTPUT(p, "folded", NULL,
		     "x;[unknown] 1\nx;f<int> 1\nx;outer<char>() 3\nx;outer<int>() 2\n");
	profile_free(p);
}

/* What has one name then is one function. */
TEST(shorter_names)
{
	struct profile *p = made();
	char *table;

	profile_shorten_names(p, short_templates);
	CHECK_OUTPUT(p, "folded", NULL, "x;[unknown] 1\nx;f<int> 1\nx;outer<...>() 3\n"
		     "x;outer<...>();small<...>();tiny<...>() 2\n");
	profile_drop_inlined(p);
	CHECK_OUTPUT(p, "folded", NULL, "x;[unknown] 1\nx;f<int> 1\nx;outer<...>() 5\n");
	table = stacks_output(p, "table", NULL);
	CHECK(strstr(table, "outer<...>()"));
	CHECK(!strstr(strstr(table, "outer<...>()") + 1, "outer"));
	free(table);
	profile_free(p);
}

/* It can still be saved, and merged. */
TEST(is_a_whole_profile_afterwards)
{
	struct profile *p = made();
	char *text;

	profile_shorten_names(p, short_templates);
	profile_drop_inlined(p);
	text = stacks_output(p, "json", NULL);
	CHECK(strstr(text, "\"total\":7"));
	free(text);
	CHECK_EQ(profile_view(p).total, 7);
	profile_free(p);
}

int main(void)
{
	RUN(inlined_functions);
	RUN(shorter_names);
	RUN(is_a_whole_profile_afterwards);
	return TEST_END();
}
