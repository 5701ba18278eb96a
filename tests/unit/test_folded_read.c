/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>

#include "input/readers.h"
#include "unit/stacks.h"

/* The profile of @text; NULL with @e. */
static struct profile *read_text(const char *text, struct error *e)
{
	struct profile *p = profile_new();

	*e = (struct error){ 0 };
	if (!folded_read(p, text, strlen(text), &(struct input_notes){ 0 }, e))
		return p;
	profile_free(p);
	return NULL;
}

/* Read and written again. */
#define CHECK_AGAIN(in, o, expected) do { \
	struct error e_; \
	struct profile *p_ = read_text(in, &e_); \
	CHECK_STR(e_.text, ""); \
	if (p_) \
		CHECK_OUTPUT(p_, "folded", o, expected); \
	profile_free(p_); \
} while (0)

#define CHECK_BAD(in, expected) do { \
	struct error e_; \
	struct profile *p_ = read_text(in, &e_); \
	CHECK(!p_); \
	CHECK_STR(e_.text, expected); \
	profile_free(p_); \
} while (0)

static const struct output_options annotate = { .annotate = 1 };

TEST(what_was_written_is_read)
{
	static const char text[] =
		"?;main 4\n"
		"pool_12 5\n"
		"x 1\n"
		"x;[truncated: depth];f 2\n"
		"x;[unknown];main 3\n"
		"x;a;a;a 18446744073709500000\n"
		"x;operator new(unsigned long) 1\n";

	CHECK_AGAIN(text, NULL, text);
	CHECK_AGAIN(text, &annotate, text);
}

TEST(annotations_are_understood)
{
	static const char text[] = "x;big;small_[i];tiny_[i] 3\nx;js_[j];read_[k];inner_[k] 2\n";
	struct error e;
	struct profile *p = read_text(text, &e);
	struct profile_view v = profile_view(p);

	CHECK_OUTPUT(p, "folded", &annotate, text);
	CHECK_OUTPUT(p, "folded", NULL, "x;big;small;tiny 3\nx;js;read;inner 2\n");
	CHECK_EQ(v.nlocations, 4);	/* big with what was inlined there, js, read, inner */
	CHECK_EQ(v.locations[0].nlines, 3);
	CHECK_STR(profile_text(p, v.functions[v.lines[0].function].name), "tiny");
	CHECK_STR(profile_text(p, v.functions[v.lines[2].function].name), "big");
	CHECK_EQ(v.locations[2].kind, FRAME_KERNEL);
	CHECK_STR(profile_text(p, v.modules[v.locations[1].module].name), "[jit]");
	CHECK_STR(profile_text(p, v.modules[v.locations[2].module].name), "[kernel]");
	profile_free(p);
	/*
	 * Nothing is inlined into nothing, or into a mark; and a name is more than its annotation.
	 */
	CHECK_AGAIN("x;a_[i] 1\n", &annotate, "x;a 1\n");
	CHECK_AGAIN("x;[truncated: depth];a_[i] 1\n", &annotate, "x;[truncated: depth];a 1\n");
	CHECK_AGAIN("x;_[k] 1\n", &annotate, "x;_[k] 1\n");
}

TEST(marks_are_marks_and_in_the_account)
{
	struct error e;
	struct profile *p = read_text("x;[truncated: depth];f 2\nx;[truncated: no CFI];f 3\nx;f "
				      "4\ny;[truncated: depth] 5\n",
				      &e);
	const struct profile_account *a = profile_account(p);

	CHECK_EQ(profile_view(p).functions[0].kind, FRAME_MARK);
	CHECK_EQ(a->taken, 14);
	CHECK_EQ(a->kept, 14);
	CHECK_EQ(a->ntruncated, 2);
	CHECK_STR(a->truncated[0].name, "depth");
	CHECK_EQ(a->truncated[0].count, 7);
	CHECK_EQ(a->truncated[1].count, 3);
	CHECK_EQ(a->nlost, 0);
	profile_free(p);
}

/* More reasons than there is room for are still all counted. */
TEST(reasons_are_bounded)
{
	char text[2048] = "";
	struct error e;
	uint64_t sum = 0;
	struct profile *p;

	for (int i = 0; i < 40; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "x;[truncated: %d];f 1\n", i);
	p = read_text(text, &e);
	CHECK_EQ(profile_account(p)->ntruncated, PROFILE_REASONS_MAX);
	for (size_t i = 0; i < profile_account(p)->ntruncated; i++)
		sum += profile_account(p)->truncated[i].count;
	CHECK_EQ(sum, 40);
	profile_free(p);
}

TEST(ids_are_understood_where_all_lines_have_them)
{
	static const char text[] = "a-b-10/10;f 1\nw-10/12;f 2\n";
	struct error e;
	struct profile *p = read_text(text, &e);
	struct profile_view v = profile_view(p);

	CHECK_OUTPUT(p, "folded", NULL, text);
	CHECK_EQ(v.nprocesses, 1);
	CHECK_EQ(v.nthreads, 2);
	CHECK_EQ(v.processes[0].pid, 10);
	CHECK_STR(profile_text(p, v.processes[0].comm), "a-b");
	CHECK_EQ(v.threads[1].tid, 12);
	profile_free(p);
	/* The leader's name is its process's, wherever its line stands. */
	p = read_text("w-10/12;f 2\nz-10/10;f 1\n", &e);
	CHECK_STR(profile_text(p, profile_view(p).processes[0].comm), "z");
	profile_free(p);
	CHECK_AGAIN("a-10/10;f 1\nb;f 2\n", NULL, "a-10/10;f 1\nb;f 2\n");
	CHECK_AGAIN("a;f 1\nb-10/10;f 2\n", NULL, "a;f 1\nb-10/10;f 2\n");
	CHECK_AGAIN("-1/2;f 1\n", NULL, "-1/2;f 1\n");
	CHECK_AGAIN("a-1/99999999999;f 1\n", NULL, "a-1/99999999999;f 1\n");
}

TEST(lines_end_as_they_like)
{
	CHECK_AGAIN("x;a 1\r\n\r\n  \t\nx;b   2\t\nx;c 3", NULL, "x;a 1\nx;b 2\nx;c 3\n");
	CHECK_AGAIN("x;a 1\nx;a 2\nx;b 0\n", NULL, "x;a 3\n");
}

TEST(names_are_cleaned)
{
	struct profile *p = profile_new();
	struct error e;

	CHECK_EQ(folded_read(p, "x;a\0b 1\n", 8, &(struct input_notes){ 0 }, &e), 0);
	CHECK_OUTPUT(p, "folded", NULL, "x;a\xef\xbf\xbd" "b 1\n");
	profile_free(p);
	CHECK_AGAIN("x\x1b;\xff\x01;b c 1\n", NULL, "x\\x1b;\xef\xbf\xbd\\x01;b c 1\n");
	CHECK_AGAIN(";;b;; 1\n", NULL, "?;[unknown];b;[unknown] 1\n");
	CHECK_AGAIN("x;task 12 5\nx;b 1\n", NULL, "x;b 1\nx;task_12 5\n");
}

/* Whatever the fractions, the sum is never off by more than a half. */
/* A name may be written as often as it is referred to. */
TEST(long_names_are_cut)
{
	enum { LONG = 1 << 20 };
	char *text = malloc(LONG + 8), *again;
	struct profile *p;
	struct error e;

	memset(text, 'n', LONG);
	memcpy(text, "x;", 2);
	memcpy(text + LONG, " 1\n", 4);
	p = read_text(text, &e);
	again = p ? stacks_output(p, "folded", NULL) : NULL;
	CHECK_EQ(again ? strlen(again) : 0, strlen("x;") + 8191 + strlen(" 1\n"));
	free(again);
	free(text);
	profile_free(p);
}

TEST(fractions_are_rounded_in_sum)
{
	CHECK_AGAIN("x;a 1.5\nx;b 1.5\nx;c 2.\n", NULL, "x;a 2\nx;b 1\nx;c 2\n");
	CHECK_AGAIN("x;a 0.4\nx;b 0.4\nx;c 0.4\nx;d 0.3\n", NULL, "x;b 1\nx;d 1\n");
	CHECK_AGAIN("x;a 18446744073709551615.9\n", NULL, "x;a 18446744073709551615\n");
}

TEST(two_counts_are_before_and_after)
{
	struct error e;
	struct profile *p = read_text("x;a 1 2\nx;b 3 0\nx;c 0 4\n", &e);
	struct profile_view v = profile_view(p);

	CHECK_EQ(v.ntypes, 2);
	CHECK_STR(profile_text(p, v.types[0].name), "before");
	CHECK_STR(profile_text(p, v.types[1].name), "after");
	CHECK_EQ(v.types[0].total, 4);
	CHECK_EQ(v.types[1].total, 6);
	CHECK_OUTPUT(p, "folded", NULL, "x;a 2\nx;c 4\n");
	profile_show(p, 0);
	CHECK_OUTPUT(p, "folded", NULL, "x;a 1\nx;b 3\n");
	profile_free(p);
}

TEST(a_bad_line_is_named)
{
	static const char expected[] =
		" is no folded stack: frames, a blank and a count are expected";
	char text[128];

	snprintf(text, sizeof(text), "line 3%s", expected);
	CHECK_BAD("x;a 1\n\nx;b\nx;c\n", text);
	CHECK_BAD("x;a 1\n\n5\n", text);
	CHECK_BAD("x;a 1\n\nx;b -5\n", text);
	CHECK_BAD("x;a 1\n\nx;b 1e5\n", text);
	CHECK_BAD("x;a 1\n\nx;b .5\n", text);
	CHECK_BAD("x;a 1\n\nx;b 18446744073709551616\n", text);
	CHECK_BAD("x;a 18446744073709551615\nx;b 1\n",
		  "line 2: the counts add up to more than 64 bits");
}

/*
 * Deeper than any C stack that would recurse over it; more inlined frames in one place than lines
 * are kept.
 */
TEST(depth_has_no_limit)
{
	enum { DEPTH = 100000 };

	for (int inlined = 0; inlined < 2; inlined++) {
		const char *frame = inlined ? ";f_[i]" : ";f";
		size_t n = strlen(frame), size = 1 + DEPTH * n + 3;
		char *text = malloc(size + 1), *again;
		struct error e;
		struct profile *p;

		text[0] = 'x';
		for (size_t i = 0; i < DEPTH; i++)
			memcpy(text + 1 + i * n, frame, n);
		memcpy(text + 1 + DEPTH * n, " 1\n", 4);
		p = read_text(text, &e);
		again = p ? stacks_output(p, "folded", NULL) : NULL;
		CHECK_EQ(again ? strlen(again) : 0, 1 + DEPTH * 2 + 3);
		free(again);
		free(text);
		profile_free(p);
	}
}

TEST(looks)
{
	static const char zeros[] = "x;a 1\n\0\0";

	CHECK(folded_looks("x;a 1\n", 6));
	CHECK(folded_looks("\n\nx;a;b\nx;a 1\n", 14));
	CHECK(!folded_looks("x;a\n", 4));
	CHECK(!folded_looks(zeros, sizeof(zeros)));
}

TEST(remarks_are_skipped)
{
	static const char text[] =
		"# made by x\n#!x 1\n#\n#no stack\nx;f 1\n## 2;b 3\n#1;g 2\n#2 3\n";

	CHECK_AGAIN(text, NULL, "#1;g 2\n#2 3\nx;f 1\n");
	CHECK(folded_looks(text, strlen(text)));
	CHECK(!folded_looks("# x 1\n", 6));
}

/* Whoever wrote it was stopped: what there is counts, and it is said. */
TEST(a_last_line_may_be_cut_off)
{
	static const char text[] = "x;f 1\n\nx;g 2\nx;a_long_na";
	struct profile *p = profile_new();
	struct input_notes notes = { 0 };
	struct error e;

	CHECK_EQ(folded_read(p, text, strlen(text), &notes, &e), 0);
	CHECK_OUTPUT(p, "folded", NULL, "x;f 1\nx;g 2\n");
	CHECK_EQ(notes.lines, 1);
	CHECK_EQ(notes.first, 4);
	CHECK_EQ(notes.cut, 1);
	profile_free(p);
	CHECK_BAD("x;f 1\nx;g\n",
		  "line 2 is no folded stack: frames, a blank and a count are expected");
	CHECK_BAD("x;g", "line 1 is no folded stack: frames, a blank and a count are expected");
}

int main(void)
{
	RUN(what_was_written_is_read);
	RUN(annotations_are_understood);
	RUN(marks_are_marks_and_in_the_account);
	RUN(reasons_are_bounded);
	RUN(ids_are_understood_where_all_lines_have_them);
	RUN(lines_end_as_they_like);
	RUN(names_are_cleaned);
	RUN(long_names_are_cut);
	RUN(fractions_are_rounded_in_sum);
	RUN(two_counts_are_before_and_after);
	RUN(a_bad_line_is_named);
	RUN(depth_has_no_limit);
	RUN(looks);
	RUN(remarks_are_skipped);
	RUN(a_last_line_may_be_cut_off);
	return TEST_END();
}
