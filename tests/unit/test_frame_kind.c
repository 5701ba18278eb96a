/* SPDX-License-Identifier: MIT */
/* Each kind of frame through the formats that keep kinds, and through what shows them. */
#include "unit/test.h"

#include "input/readers.h"
#include "profile/part.h"
#include "unit/stacks.h"

/* A profile of one function of each kind that a function can have; called as its kind. */
static struct profile *one_of_each(void)
{
	struct profile *p = profile_new();
	uint32_t thread = stacks_thread(p, 1, 1, "x");

	for (int kind = 0; kind < FRAME_KINDS; kind++) {
		const struct frame_kind_row *row = &frame_kinds[kind];
		char name[32];
		struct line line = { 0 };
		uint32_t location;

		snprintf(name, sizeof(name), "of_kind_%d", kind);
		if (kind == FRAME_INLINED)
			continue;
		line.function = profile_function(p, profile_string(p, name),
						 profile_string(p, row->module),
						 (enum frame_kind)kind);
		location = profile_location(p, profile_module(p, row->module, "", ""), row->saved,
					    1 + (uint64_t)kind);
		profile_name_location(p, location, &line, 1, "");
		profile_add(p, thread, profile_node(p, 0, location), 1);
	}
	return p;
}

static size_t count_kinds(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	size_t n = 0;

	for (size_t i = 0; i < v.nfunctions; i++) {
		char name[32];

		snprintf(name, sizeof(name), "of_kind_%d", (int)v.functions[i].kind);
		n += !strcmp(profile_text(p, v.functions[i].name), name);
	}
	return n;
}

TEST(rows_are_whole)
{
	for (int i = 0; i < FRAME_KINDS; i++) {
		const struct frame_kind_row *row = &frame_kinds[i];

		CHECK(row->name && row->mark && row->module && row->text);
		CHECK(frame_families[row->family]);
		/* What is inlined looks like something, and again like that. */
		CHECK_EQ(frame_kinds[row->inlined].inlined, row->inlined);
		CHECK_EQ(frame_kind_saved(row->saved), row->saved);
		for (int k = 0; k < i; k++)
			CHECK(!*row->mark || strcmp(row->mark, frame_kinds[k].mark));
	}
	CHECK_EQ(frame_kind_saved(FRAME_JIT), FRAME_KINDS);
	CHECK_EQ(frame_kind_saved(UINT64_MAX), FRAME_KINDS);
}

TEST(a_module_tells_what_was_made_at_run_time)
{
	struct profile *p = profile_new();
	uint32_t name = profile_string(p, "f"), jit = profile_string(p, "[jit]");
	uint32_t id = profile_function(p, name, jit, FRAME_USER);

	CHECK_EQ(profile_view(p).functions[id].kind, FRAME_JIT);
	CHECK_EQ(profile_function(p, name, jit, FRAME_JIT), id);
	id = profile_function(p, name, jit, FRAME_KERNEL);
	CHECK_EQ(profile_view(p).functions[id].kind, FRAME_KERNEL);
	CHECK(profile_view(p).modules[profile_module(p, PROFILE_MADE, "//anon", "")].made);
	CHECK(!profile_view(p).modules[profile_module(p, "libc.so.6", "//anon", "")].made);
	profile_free(p);
}

/* All of these hold the whole profile as pprof has it. */
TEST(saved_profiles_keep_them)
{
	static const char *const formats[] = { "html", "json", "speedscope", "firefox" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct profile *p = one_of_each(), *q = profile_new();
		struct error e = { 0 };
		char *text = stacks_output(p, formats[i], NULL);

		CHECK_EQ(count_kinds(p), FRAME_KINDS - 1);
		CHECK_EQ(embedded_read(q, text, strlen(text), &(struct input_notes){ 0 }, &e), 0);
		CHECK_EQ(count_kinds(q), FRAME_KINDS - 1);
		free(text);
		profile_free(q);
		profile_free(p);
	}
}

TEST(annotations_are_read_back)
{
	const struct output_options annotate = { .annotate = 1 };
	struct profile *p = one_of_each(), *q = profile_new();
	struct error e = { 0 };
	char *text = stacks_output(p, "folded", &annotate);

	CHECK_STR(text, "x;of_kind_0 1\nx;of_kind_10_[l] 1\nx;of_kind_11_[u] 1\n"
			"x;of_kind_12_[t] 1\n"
			"x;of_kind_1_[k] 1\nx;of_kind_2 1\n"
			"x;of_kind_3_[p] 1\nx;of_kind_4_[j] 1\nx;of_kind_6_[s] 1\n"
			"x;of_kind_7_[v] 1\nx;of_kind_8_[r] 1\nx;of_kind_9_[h] 1\n");
	CHECK_EQ(folded_read(q, text, strlen(text), &(struct input_notes){ 0 }, &e), 0);
	/* A mark is known by its own name alone. */
	CHECK_EQ(count_kinds(q), FRAME_KINDS - 2);
	free(text);
	profile_free(q);
	profile_free(p);
}

TEST(what_only_interpreters_have_is_only_there_with_them)
{
	struct profile *p = one_of_each(), *native = profile_new();
	static const struct { const char *format, *part; } parts[] = {
		{ "firefox", "\"Interpreted\"" }, { "svg", ".s0{" },
	};

	stacks_add(native, stacks_thread(native, 1, 1, "x"), "prog!main", 1);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		char *with = stacks_output(p, parts[i].format, NULL);
		char *without = stacks_output(native, parts[i].format, NULL);

		CHECK(with && strstr(with, parts[i].part));
		CHECK(without && !strstr(without, parts[i].part));
		free(with);
		free(without);
	}
	profile_free(native);
	profile_free(p);
}

TEST(a_part_leaves_out_sides)
{
	struct profile *p = one_of_each(), *part;

	part = part_new(p, NULL, &(struct part_choice){ .no_user = 1 });
	for (size_t i = 0; i < profile_view(part).nfunctions; i++)
		CHECK(frame_kinds[profile_view(part).functions[i].kind].side != FRAME_PROGRAM);
	CHECK_EQ(profile_view(part).nfunctions, 2);
	profile_free(part);
	profile_free(p);
}

int main(void)
{
	RUN(rows_are_whole);
	RUN(a_module_tells_what_was_made_at_run_time);
	RUN(saved_profiles_keep_them);
	RUN(annotations_are_read_back);
	RUN(what_only_interpreters_have_is_only_there_with_them);
	RUN(a_part_leaves_out_sides);
	return TEST_END();
}
