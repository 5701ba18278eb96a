/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "selftest/judge.h"
#include "selftest/measure.h"
#include "unit/stacks.h"

static const struct selftest_program python = {
	.name = "python3", .judged = SELFTEST_SHARES | SELFTEST_WAITS, .scope = ""
};
static const struct selftest_program ruby = {
	.name = "ruby", .judged = SELFTEST_SHARES, .scope = "Object#"
};
static const struct selftest_program memory = {
	.name = "native-memory", .judged = SELFTEST_BLOCKS, .scope = "selftest_"
};

#define MS 1000000

/* What a recording of @program shows that has each stack so long (ms), up to NULL. */
struct shown {
	const char *stack;
	uint64_t ms;
};

static struct profile *profile_of(const struct shown *s)
{
	struct profile *p = profile_new();
	uint32_t thread = stacks_thread(p, 1, 1, "x");

	profile_set_type(p, 0, "wall", "nanoseconds");
	profile_meta(p)->frequency = 999;
	for (; s->stack; s++)
		stacks_add(p, thread, s->stack, s->ms * MS);
	return p;
}

/* Adds a mark as the outermost frame, as for @stack of functions. */
static void add_marked(struct profile *p, const char *mark, const char *stack, uint64_t ms)
{
	uint32_t thread = stacks_thread(p, 1, 1, "x"), before = (uint32_t)profile_view(p).nsamples;
	uint32_t name = profile_string(p, mark), node;
	uint32_t location = profile_location(p, 0, FRAME_MARK, before);
	const struct line line = { .function = profile_function(p, name, 0, FRAME_MARK) };

	stacks_add(p, thread, stack, 1);
	node = profile_view(p).samples[before].node;
	profile_drop(p, before);
	profile_name_location(p, location, &line, 1, "");
	profile_add(p, thread, profile_node(p, node, location), ms * MS);
}

static struct outcome judged(const struct selftest_program *program, struct profile *p)
{
	struct outcome o = { .program = program,
			     .truth = { .version = "1", .busy = 900 * MS, .rested = 210 * MS } };

	measure(p, program, &o.measured);
	judge(&o);
	profile_free(p);
	return o;
}

static const struct shown right[] = {
	{ "main|two|spin", 600 }, { "main|one|spin", 300 }, { "main|rest|nanosleep", 201 },
	{ "import", 77 }, { NULL, 0 }
};

TEST(right_is_right)
{
	struct outcome o = judged(&python, profile_of(right));
	int there;

	CHECK_EQ(o.state, OUTCOME_RIGHT);
	CHECK_EQ(judge_names(&o, &there), 5);
	CHECK_EQ(there, 5);
	CHECK(judge_whole(&o.measured) == 1);
	CHECK(judge_share(&o.measured) > 0.666 && judge_share(&o.measured) < 0.667);
	CHECK_EQ(o.measured.of[SELFTEST_REST_FUNCTION], 201 * MS);
}

/* @two and @one ms are told apart from two thirds and one third, or not. */
static int shares_are(uint64_t two, uint64_t one)
{
	const struct shown s[] = { { "main|two|spin", two }, { "main|one|spin", one },
				   { "main|rest", 201 }, { NULL, 0 } };

	return judged(&python, profile_of(s)).state == OUTCOME_RIGHT;
}

TEST(shares_have_a_bound)
{
	/* Of 900 samples 3 standard errors are 4.7 points, and 2 more are the sampler's. */
	CHECK(shares_are(600 + 58, 300 - 58));
	CHECK(!shares_are(600 + 63, 300 - 63));
	CHECK(shares_are(600 - 58, 300 + 58));
	CHECK(!shares_are(450, 450));
	CHECK(!shares_are(300, 600));
	/* Half of the time is not there at all. */
	CHECK(!shares_are(280, 140));
	CHECK(!shares_are(900, 450));
}

static int waits_are(uint64_t ms)
{
	const struct shown s[] = { { "main|two|spin", 600 }, { "main|one|spin", 300 },
				   { "main|rest", ms }, { NULL, 0 } };

	return judged(&python, profile_of(s)).state == OUTCOME_RIGHT;
}

TEST(waits_have_bounds)
{
	CHECK(waits_are(200));
	CHECK(waits_are(210));
	CHECK(waits_are(185));
	CHECK(!waits_are(170));
	CHECK(!waits_are(230));
	CHECK(!waits_are(0));
}

TEST(waiting_for_a_cpu_is_none)
{
	struct profile *p = profile_of(right);
	struct outcome o;

	add_marked(p, "[runnable]", "main|one|spin", 5000);
	add_marked(p, "[runnable]", "main|rest", 5000);
	o = judged(&python, p);
	CHECK_EQ(o.state, OUTCOME_RIGHT);
}

TEST(cut_stacks_are_not_whole)
{
	struct profile *p = profile_of(right);
	struct outcome o;

	add_marked(p, "[truncated: no CFI]", "main|two|spin", 20);
	add_marked(p, "[truncated: no CFI]", "main|one|spin", 10);
	o = judged(&python, p);
	CHECK_EQ(o.state, OUTCOME_RIGHT);
	CHECK(judge_whole(&o.measured) < 1);

	p = profile_of(right);
	add_marked(p, "[truncated: no CFI]", "main|two|spin", 60);
	add_marked(p, "[truncated: no CFI]", "main|one|spin", 30);
	o = judged(&python, p);
	CHECK_EQ(o.state, OUTCOME_WRONG);
	CHECK_STR(o.why, "stacks do not lead to main");
}

TEST(names_have_their_scope)
{
	const struct shown s[] = { { "Object#main|Object#two|Object#spin", 600 },
				   { "Object#main|Object#one|Object#spin", 300 }, { NULL, 0 } };
	struct outcome o = judged(&ruby, profile_of(s));

	CHECK_EQ(o.state, OUTCOME_RIGHT);
	o = judged(&ruby, profile_of(right));
	CHECK_EQ(o.state, OUTCOME_WRONG);
	CHECK_STR(o.why, "functions that ran are not there by their names");
}

TEST(nothing_is_wrong)
{
	struct outcome o = judged(&python, profile_of(right + 4));

	CHECK_EQ(o.state, OUTCOME_WRONG);
	CHECK(judge_whole(&o.measured) == 0 && judge_share(&o.measured) == 0);
	o = judged(&memory, profile_of(right));
	CHECK_EQ(o.state, OUTCOME_WRONG);
}

TEST(blocks_are_exact)
{
	for (uint64_t lost = 0; lost < 2; lost++) {
		struct profile *p = profile_new();
		uint32_t thread = stacks_thread(p, 1, 1, "x");
		struct outcome o = { .program = &memory,
				     .truth = { .version = "1", .blocks = 3, .bytes = 3000 } };

		profile_set_type(p, 0, "alloc_objects", "count");
		profile_add_type(p, "alloc_space", "bytes");
		stacks_add(p, thread, "selftest_main|selftest_two|malloc", 2);
		stacks_add(p, thread, "selftest_main|selftest_one|malloc", 1);
		stacks_add(p, thread, "main|setlocale|malloc", 7);
		for (uint32_t i = 0; i < 2; i++)
			profile_count(p, i, 1, i ? 1000 : 2000 - lost);
		measure(p, &memory, &o.measured);
		judge(&o);
		CHECK_EQ(o.state, lost ? OUTCOME_WRONG : OUTCOME_RIGHT);
		profile_free(p);
	}
}

int main(void)
{
	RUN(right_is_right);
	RUN(shares_have_a_bound);
	RUN(waits_have_bounds);
	RUN(waiting_for_a_cpu_is_none);
	RUN(cut_stacks_are_not_whole);
	RUN(names_have_their_scope);
	RUN(nothing_is_wrong);
	RUN(blocks_are_exact);
	return TEST_END();
}
