/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "unit/stacks.h"

#define HEADER "# ========\n# ========\n#\n"

/* Without a rate records are a millisecond apart. */
static struct profile *new_profile(void)
{
	struct profile *p = profile_new();

	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "page faults");
	return p;
}

TEST(symbols_that_readers_would_cut)
{
	struct profile *p = new_profile();

	stacks_add(p, stacks_thread(p, 5, 6, "demo"),
		   "(anonymous namespace)::f(int)|a+0x12|b+0x|c+0x1g|operator()(int) "
		   "const+0xff|(|@| x",
		   1);
	CHECK_OUTPUT(p, "perf-script", NULL, HEADER
		"demo 5/6 0.001000:          1 page_faults: \n"
		"\t               7 _x ([unknown])\n"
		"\t               6 [unknown] ([unknown])\n"
		"\t               5 { ([unknown])\n"
		"\t               4 operator()(int) const+0xff+0x0 ([unknown])\n"
		"\t               3 c+0x1g ([unknown])\n"
		"\t               2 b+0x ([unknown])\n"
		"\t               1 a+0x12+0x0 ([unknown])\n"
		"\t               0 {anonymous namespace}::f(int) ([unknown])\n\n");
	profile_free(p);
}

TEST(comms_that_readers_would_take_apart)
{
	static const char *const comms[][2] = {
		{ "a", "a " },	  { "", "? " },
		{ "# x", "_ x" }, { "w 1 2.5: x", "w_1_2.5: x" },
		{ "  7", "__7" }, { "no 1/2 b", "no_1/2 b" },
	};

	for (size_t i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		struct profile *p = new_profile();
		char expected[256];

		stacks_add(p, stacks_thread(p, 5, 0, comms[i][0]), "[kernel]!f", 1);
		snprintf(expected, sizeof(expected),
			 HEADER
			 "%s 5/5 0.001000:          1 page_faults: \n\t%16x f ([kernel])\n\n",
			 comms[i][1], 0);
		CHECK_OUTPUT(p, "perf-script", NULL, expected);
		profile_free(p);
	}
}

TEST(files)
{
	struct profile *p = new_profile();
	const struct {
		const char *name, *path, *function;
		enum frame_kind kind;
	} files[] = {
		{ "[kernel]", "[kernel.kallsyms]", "[kernel]", FRAME_KERNEL },
		{ "[kernel]", "[kernel.kallsyms]", "[nf_tables]", FRAME_KERNEL },
		{ "[anon]", "//anon of 5.1", "[jit]", FRAME_USER },
		{ "[anon]", "//anon of 5.1", "", FRAME_USER },
		{ "libx.so", "/usr/my lib (deleted)/libx.so", "libx.so", FRAME_USER },
		{ "libx.so", "", "libx.so", FRAME_USER },
	};
	uint32_t node = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		uint32_t module = profile_module(p, files[i].name, files[i].path, "");
		uint32_t location = profile_location(p, module, files[i].kind, i);

		profile_name_location(p, location,
				      &(struct line){ .function = profile_function(
							      p, profile_string(p, "f"),
							      profile_string(p, files[i].function),
							      files[i].kind) },
				      1, "");
		node = profile_node(p, node, location);
	}
	profile_add(p, stacks_thread(p, 5, 5, "demo"), node, 1);
	CHECK_OUTPUT(p, "perf-script", NULL, HEADER
		"demo 5/5 0.001000:          1 page_faults: \n"
		"\t               5 f (libx.so)\n"
		"\t               4 f (/usr/my_lib_[deleted]/libx.so)\n"
		"\t               3 f ([unknown])\n"
		"\t               2 f ([jit])\n"
		"\t               1 f ([nf_tables])\n"
		"\t               0 f ([kernel.kallsyms])\n\n");
	profile_free(p);
}

TEST(more_than_can_be_repeated)
{
	struct profile *p = new_profile();
	uint32_t t = stacks_thread(p, 5, 5, "demo");
	char *text;
	size_t records = 0;

	stacks_add(p, t, "f", 999999);
	stacks_add(p, t, "g", 1);
	text = stacks_output(p, "perf-script", NULL);
	for (const char *c = text; *c; c++)
		records += c[0] == '\n' && c[1] == '\n';
	CHECK_EQ(records, 1000000);
	free(text);
	stacks_add(p, t, "g", 1);
	CHECK_OUTPUT(
		p, "perf-script", NULL,
		HEADER
		"demo 5/5 0.001000:     999999 page_faults: \n\t               0 f ([unknown])\n\n"
		"demo 5/5 0.002000:          1 page_faults: \n\t               1 g ([unknown])\n\n"
		"demo 5/5 0.003000:          1 page_faults: \n\t               2 g "
		"([unknown])\n\n");
	profile_free(p);
}

/* Few records, but each of a deep stack of long names: all of them would be 3 GB. */
TEST(bytes_that_are_too_many_to_be_repeated)
{
	struct profile *p = new_profile();
	uint32_t node = 0, location = profile_location(p, 0, FRAME_USER, 1);
	char name[8000], *text;

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	profile_name_location(p, location, &(struct line){
		.function = profile_function(p, profile_string(p, name), 0, FRAME_USER) }, 1, "");
	for (int i = 0; i < 100; i++)
		node = profile_node(p, node, location);
	profile_add(p, stacks_thread(p, 5, 5, "demo"), node, 4000);
	text = stacks_output(p, "perf-script", NULL);
	CHECK(text && strstr(text, "       4000 page_faults: \n") != NULL);
	CHECK(text && strlen(text) < 1000000);
	free(text);
	profile_free(p);
}

int main(void)
{
	RUN(symbols_that_readers_would_cut);
	RUN(comms_that_readers_would_take_apart);
	RUN(files);
	RUN(more_than_can_be_repeated);
	RUN(bytes_that_are_too_many_to_be_repeated);
	return TEST_END();
}
