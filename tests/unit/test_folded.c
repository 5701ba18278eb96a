/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "unit/stacks.h"

TEST(nothing_is_an_empty_file)
{
	struct profile *p = profile_new();

	CHECK_OUTPUT(p, "folded", NULL, "");
	profile_free(p);
}

/* Depth first, siblings by name, whatever the order they came in. */
TEST(equal_names_are_one_line)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 10, 0, "work"), u = stacks_thread(p, 11, 0, "work");

	stacks_add(p, t, "app!main|app!zeta", 1);
	stacks_add(p, t, "app!main|app!alpha|libc.so.6!memcpy", 2);
	stacks_add(p, u, "app!main|app!alpha|libc.so.6!memcpy", 3);
	stacks_add(p, t, "app!main|app!alpha", 4);
	stacks_add(p, t, "app!main|other!zeta", 5);
	stacks_add(p, t, "app!main|[kernel]!do_syscall_64|[kernel]!vfs_read", 6);
	stacks_add(p, t, "app!main", 7);
	stacks_add(p, stacks_thread(p, 12, 0, "another"), "app!main", 1);
	CHECK_OUTPUT(p, "folded", NULL,
		"another;main 1\n"
		"work;main 7\n"
		"work;main;alpha 4\n"
		"work;main;alpha;memcpy 5\n"
		"work;main;do_syscall_64;vfs_read 6\n"
		"work;main;zeta 6\n");
	profile_free(p);
}

TEST(threads_are_told_apart_on_demand)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 10, 10, "a b;c"), "f", 1);
	stacks_add(p, stacks_thread(p, 10, 12, "a b;c"), "f", 2);
	CHECK_OUTPUT(p, "folded", NULL, "a_b:c;f 3\n");
	profile_meta(p)->per_thread = 1;
	CHECK_OUTPUT(p, "folded", NULL, "a_b:c-10/10;f 1\na_b:c-10/12;f 2\n");
	profile_free(p);
}

TEST(frames_without_a_name_and_stacks_without_a_frame)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");

	stacks_add(p, t, "", 1);
	stacks_add(p, t, "main|@", 2);
	stacks_add(p, t, "lib.so!@|main", 3);
	stacks_add(p, stacks_thread(p, 2, 0, ""), "main", 4);
	stacks_add(p, stacks_thread(p, 3, 0, "pool 12"), "", 5);
	/* Not made by anybody who keeps to the model, and still no empty frame. */
	stacks_add(p, t, "a||b", 6);
	CHECK_OUTPUT(p, "folded", NULL,
		"?;main 4\n"
		"pool_12 5\n"
		"x 1\n"
		"x;[unknown];main 3\n"
		"x;a;[unknown];b 6\n"
		"x;main;[unknown] 2\n");
	profile_free(p);
}

/* No reader may take a part of a name for a count, or see a frame that looks empty. */
TEST(names_are_fit_for_readers)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");

	stacks_add(p, t, "a;b", 1);
	stacks_add(p, t, "operator new(unsigned long)", 1);
	stacks_add(p, t, "task 12", 1);
	stacks_add(p, t, "task 12|leaf", 1);
	stacks_add(p, t, "task_12", 1);
	stacks_add(p, t, "version 1.5", 1);
	stacks_add(p, t, "n 12 34", 1);
	stacks_add(p, t, "  ", 1);
	stacks_add(p, t, "tail ", 1);
	stacks_add(p, t, "7", 1);
	stacks_add(p, t, "v2", 1);
	stacks_add(p, t, "\xc3\xbc\\n", 1);
	CHECK_OUTPUT(p, "folded", NULL,
		"x;7 1\n"
		"x;__ 1\n"
		"x;a:b 1\n"
		"x;n 12_34 1\n"
		"x;operator new(unsigned long) 1\n"
		"x;tail_ 1\n"
		"x;task_12 2\n"
		"x;task_12;leaf 1\n"
		"x;v2 1\n"
		"x;version_1.5 1\n"
		"x;\xc3\xbc\\n 1\n");
	profile_free(p);
}

/* Readers, ours among them, skip what begins like a remark. */
TEST(names_of_threads_are_no_remarks)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 1, 0, "#"), "", 1);
	stacks_add(p, stacks_thread(p, 2, 0, "##x"), "main", 2);
	stacks_add(p, stacks_thread(p, 3, 0, "#!x"), "main", 3);
	stacks_add(p, stacks_thread(p, 4, 0, "#1"), "main", 4);
	stacks_add(p, stacks_thread(p, 5, 0, "# x"), "main", 5);
	CHECK_OUTPUT(p, "folded", NULL,
		"#1;main 4\n"
		"#_x;main 5\n"
		"_ 1\n"
		"_!x;main 3\n"
		"_#x;main 2\n");
	profile_free(p);
}

TEST(counts_are_whole)
{
	struct profile *p = profile_new();

	stacks_add(p, stacks_thread(p, 1, 0, "x"), "f", UINT64_MAX);
	CHECK_OUTPUT(p, "folded", NULL, "x;f 18446744073709551615\n");
	profile_free(p);
}

TEST(recursion_is_kept)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x");

	stacks_add(p, t, "f|f|f", 1);
	stacks_add(p, t, "f|f", 1);
	CHECK_OUTPUT(p, "folded", NULL, "x;f;f 1\nx;f;f;f 1\n");
	profile_free(p);
}

/* Deeper than any C stack that would recurse over it. */
TEST(depth_has_no_limit)
{
	enum { DEPTH = 300000 };
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x"), node = 0,
		 l = profile_location(p, 0, FRAME_USER, 1);
	char *text;

	profile_name_location(
		p, l,
		&(struct line){ profile_function(p, profile_string(p, "f"), 0, FRAME_USER), 0, 0 },
		1, "");
	for (int i = 0; i < DEPTH; i++)
		node = profile_node(p, node, l);
	profile_add(p, t, node, 9);
	text = stacks_output(p, "folded", NULL);
	CHECK_EQ(text ? strlen(text) : 0, 1 + 2 * DEPTH + 3);
	CHECK(text && !strncmp(text, "x;f;f;f;", 8));
	CHECK_STR(text ? text + 2 * DEPTH - 3 : "", ";f;f 9\n");
	free(text);
	profile_free(p);
}

/* A line of 72 MB: what does not fit counts for what called it. */
TEST(a_line_is_bounded)
{
	enum { DEPTH = 9000, SIZE = 8000, MOST = 1 << 26 };
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 0, "x"), node = 0,
		 l = profile_location(p, 0, FRAME_USER, 1);
	char name[SIZE], *text;
	size_t n;

	memset(name, 'n', SIZE - 1);
	name[SIZE - 1] = '\0';
	profile_name_location(
		p, l,
		&(struct line){ profile_function(p, profile_string(p, name), 0, FRAME_USER), 0, 0 },
		1, "");
	for (int i = 0; i < DEPTH; i++)
		node = profile_node(p, node, l);
	profile_add(p, t, node, 9);
	profile_add(p, t, profile_node(p, 0, l), 5);
	text = stacks_output(p, "folded", NULL);
	n = text ? strlen(text) : 0;
	CHECK(n > MOST && n < MOST + 2 * SIZE);
	CHECK(text && !strncmp(text + 1 + SIZE, " 5\nx;nn", 7));
	CHECK_STR(text ? text + n - 5 : "", "nn 9\n");
	free(text);
	profile_free(p);
}

TEST(formats_by_name_and_path)
{
	CHECK_STR(output_by_name("folded")->name, "folded");
	CHECK_STR(output_by_name("table")->name, "table");
	CHECK_STR(output_by_name("top")->name, "table");
	CHECK_STR(output_by_name("text")->name, "table");
	CHECK_STR(output_word("svg"), "svg");
	CHECK(!output_by_name("fold"));
	CHECK(!output_by_name(""));
	CHECK_STR(output_by_path("a/b.folded")->name, "folded");
	CHECK_STR(output_by_path("x.folded.txt")->name, "table");
	CHECK_STR(output_by_path("x.collapsed")->name, "folded");
	CHECK_STR(output_by_path("x.pprof")->name, "pprof");
	CHECK_STR(output_by_path("x.pb.gz")->name, "pprof");
	CHECK_STR(output_by_path("x.json.gz")->name, "firefox");
	CHECK(!output_by_path("x.folded.xz"));
	CHECK(!output_by_path("x.folded/y"));
	CHECK(!output_by_path(""));
	CHECK(!output_by_path("-"));
	CHECK_STR(output_by_path("callgrind.out.123")->name, "callgrind");
	CHECK_STR(output_by_path("/tmp/callgrind.out")->name, "callgrind");
	CHECK_STR(output_by_path("x.callgrind.gz")->name, "callgrind");
	CHECK_STR(output_by_path("callgrind.out.folded")->name, "folded");
	CHECK(!output_by_path("callgrind.out.1/x"));
	CHECK(!output_by_path("my.callgrind.out.1"));
	CHECK_STR(output_by_path("/tmp/dhat.out.123")->name, "dhat");
	CHECK_STR(output_by_path("x.dhat.json.gz")->name, "dhat");
	for (const struct output_format *f = output_profiles.formats; f->name; f++) {
		CHECK(f->write && f->help[0]);
		CHECK(output_by_name(f->name) == f);
		if (f->suffix[0])
			CHECK(output_by_path(f->suffix) == f);
	}
}

TEST(formats_and_names_that_disagree)
{
	static const struct {
		const char *format, *path;
		int fits;
	} cases[] = {
		{ "pprof", "x.svg", 0 },
		{ "svg", "x.svg", 1 },
		{ "svg", "x.svg.gz", 1 },
		{ "pprof", "x", 1 },
		{ "pprof", "x.data", 1 },
		{ "pprof", "-", 1 },
		{ "pprof", "/dev/null", 1 },
		{ "pprof", "x.svg/y", 1 },
		{ "json", "x.json", 1 },
		{ "dhat", "x.json.gz", 1 },
		{ "firefox", "x.json", 1 },
		{ "pprof", "x.json", 0 },
		{ "firefox", "x.speedscope.json", 0 },
		{ "speedscope", "x.speedscope.json", 1 },
		{ "folded", "x.txt", 1 },
		{ "html", "x.txt", 0 },
		{ "pprof", "callgrind.out.1", 0 },
		{ "callgrind", "callgrind.out.1", 1 },
		{ "folded", "callgrind.out.folded", 1 },
		{ "svg", "x.pprof", 0 },
		{ "pprof", "x.gz", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_EQ(output_fits(&output_profiles, output_by_name(cases[i].format),
				     cases[i].path),
			 cases[i].fits);
	for (const struct output_format *f = output_profiles.formats; f->name; f++)
		CHECK(output_fits(&output_profiles, f, f->suffix));
}

TEST(annotates_where_asked)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 7, 7, "x"), demo = profile_string(p, "demo"), node;
	const struct output_options annotate = { .annotate = 1 };
	const struct line lines[] = {
		{ .function = profile_function(p, profile_string(p, "small"), demo, FRAME_USER) },
		{ .function = profile_function(p, profile_string(p, "big"), demo, FRAME_USER) },
	};

	stacks_add(p, t, "demo!small|[jit]!js|[kernel]!read", 2);
	node = profile_node(p, 0, profile_location(p, 0, FRAME_USER, 1000));
	profile_name_location(p, profile_view(p).nodes[node].location, lines, 2, "");
	profile_add(p, t, node, 3);
	CHECK_OUTPUT(p, "folded", &annotate, "x;big;small_[i] 3\nx;small;js_[j];read_[k] 2\n");
	CHECK_OUTPUT(p, "folded", NULL, "x;big;small 3\nx;small;js;read 2\n");
	profile_free(p);
}

int main(void)
{
	RUN(nothing_is_an_empty_file);
	RUN(equal_names_are_one_line);
	RUN(threads_are_told_apart_on_demand);
	RUN(frames_without_a_name_and_stacks_without_a_frame);
	RUN(names_are_fit_for_readers);
	RUN(names_of_threads_are_no_remarks);
	RUN(counts_are_whole);
	RUN(recursion_is_kept);
	RUN(depth_has_no_limit);
	RUN(a_line_is_bounded);
	RUN(formats_by_name_and_path);
	RUN(formats_and_names_that_disagree);
	RUN(annotates_where_asked);
	return TEST_END();
}
