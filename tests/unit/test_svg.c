/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "output/svg_style.h"
#include "unit/stacks.h"

static int holds(const struct profile *p, const char *what)
{
	char *text = stacks_output(p, "svg", NULL);
	int found = text && strstr(text, what);

	free(text);
	return found;
}

/* What is narrower than a thousandth is left out with all that is above it, and counted. */
TEST(narrow_boxes_are_left_out)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");

	stacks_add(p, t, "app!main", 1997);
	stacks_add(p, t, "app!main|app!edge", 2);
	CHECK(holds(p, "edge (app): 2 samples, 0.10 %"));
	CHECK(!holds(p, "not drawn"));
	stacks_add(p, t, "app!main|app!narrow", 1);
	CHECK(holds(p, "edge (app): 2 samples, 0.10 %"));
	CHECK(!holds(p, "narrow (app)"));
	CHECK(holds(p, ">1 box under 0.1 % not drawn<"));
	stacks_add(p, t, "app!main|app!edge|app!above|app!top", 1);
	CHECK(holds(p, ">3 boxes under 0.1 % not drawn<"));
	CHECK(holds(p, "main (app): 2001 samples, 100.00 %; 99.80 % in itself"));
	profile_free(p);
}

/* Both reasons for what is missing. */
TEST(levels_that_are_left_out)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	char frames[1024] = "f";

	for (int i = 1; i < 79; i++)
		strcat(frames, "|f");
	stacks_add(p, t, frames, 5000);
	CHECK(!holds(p, "not drawn"));
	strcat(frames, "|f|f");
	stacks_add(p, t, frames, 5000);
	stacks_add(p, t, "g", 1);
	CHECK(holds(p, ">1 box under 0.1 % not drawn, 2 deeper levels not drawn<"));
	profile_free(p);
}

TEST(threads_are_told_apart_on_demand)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 10, 10, "x"), "f", 1);
	stacks_add(p, stacks_thread(p, 10, 12, "x"), "f", 2);
	CHECK(holds(p, "<title>x: 3 samples"));
	profile_meta(p)->per_thread = 1;
	CHECK(holds(p, "<title>x-10/12: 2 samples"));
	profile_free(p);
}

/* All that XML gives a meaning to; and names without end are cut. */
TEST(names_are_escaped_and_cut)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");
	char name[3000];

	stacks_add(p, t, "<&>\"'", 1);
	CHECK(holds(p, "<title>&lt;&amp;&gt;&quot;&#39;: 1 samples"));
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	profile_add(p, t, profile_node(p, 0, profile_location(p, 0, FRAME_USER, 99)), 1);
	profile_meta(p)->title = profile_string(p, name);
	CHECK(holds(p, "nnn...nnn"));
	name[200] = '\0';
	CHECK(!holds(p, name));
	CHECK(holds(p, "<title>[unknown]: 1 samples"));
	profile_free(p);
}

/* Imported profiles tell nothing of themselves, or nonsense. */
TEST(headers_without_an_account)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 1, 0, "x"), "f", 3);
	CHECK(holds(p, "<text class=\"d\" x=\"16\" y=\"76\">3 samples</text>"));
	profile_account(p)->taken = 3;
	profile_account(p)->kept = 1;
	profile_account(p)->truncated[profile_account(p)->ntruncated++] = (struct profile_reason){
		"depth", 2
	};
	CHECK(holds(p, ">3 samples: 0 complete, 2 truncated (2 depth), 0 lost<"));
	profile_free(p);
}

/* Colours are those of every other picture: these are known values. */
TEST(shades_never_change)
{
	CHECK_EQ(svg_shade("main", "demo"), 1);
	CHECK_EQ(svg_shade("work", "demo"), 0);
	CHECK(svg_shade("f", "a") != svg_shade("f", "b"));
}

int main(void)
{
	RUN(narrow_boxes_are_left_out);
	RUN(levels_that_are_left_out);
	RUN(threads_are_told_apart_on_demand);
	RUN(names_are_escaped_and_cut);
	RUN(headers_without_an_account);
	RUN(shades_never_change);
	return TEST_END();
}
