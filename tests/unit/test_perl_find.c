/* SPDX-License-Identifier: MIT */
/* What a Perl does not export, in code that is made here. */
#include "lang/perl_find.h"
#include "test.h"

#define BASE	0x10000u
#define FUNCTION 64u	/* bytes of each */
#define FUNCTIONS 8u

static uint8_t bytes[FUNCTION * FUNCTIONS];
static uint64_t starts[FUNCTIONS + 1];
static const struct code_text text = {
	.bytes = bytes, .n = sizeof(bytes), .address = BASE, .offset = 0x400, .starts = starts,
	.nstarts = FUNCTIONS,
};

static void put_relative(uint32_t at, uint32_t to)
{
	uint32_t distance = to - (at + 4);

	memcpy(bytes + at, &distance, sizeof(distance));
}

static void make(void)
{
	memset(bytes, 0x90, sizeof(bytes));
	for (uint32_t i = 0; i <= FUNCTIONS; i++)
		starts[i] = BASE + i * FUNCTION;
}

/* Function @from gives @what to function @to. */
static void put_call(uint32_t from, uint32_t what, uint32_t to, uint8_t op)
{
	uint32_t at = from * FUNCTION + 8;

	memcpy(bytes + at, "\x48\x8d\x35", 3);
	put_relative(at + 3, what * FUNCTION);
	bytes[at + 10] = op;
	put_relative(at + 11, to * FUNCTION);
}

TEST(what_takes_those_that_call_it)
{
	struct lang_image found = { 0 };

	make();
	put_call(0, 0, 6, 0xe9);
	put_call(1, 1, 6, 0xe8);
	put_call(2, 5, 6, 0xe8);
	put_call(4, 4, 3, 0xe9);
	CHECK(perl_find_again(&text, &found) < 0);
	put_call(2, 2, 6, 0xe8);
	CHECK_EQ(perl_find_again(&text, &found), 0);
	CHECK_EQ(found.code.n, 4);
	CHECK_EQ(found.code.v[0].start, 0x400 + 6 * FUNCTION);
	CHECK_EQ(found.code.v[0].end, 0x400 + 7 * FUNCTION);
	CHECK_EQ(found.code.v[0].runs, LANG_RUNS_AGAIN);
	CHECK_EQ(found.code.v[3].start, 0x400 + 2 * FUNCTION);
	CHECK_EQ(found.code.v[3].end, 0x400 + 3 * FUNCTION);
	CHECK_EQ(found.code.v[3].runs, LANG_RUNS_AGAIN);
	lang_image_free(&found);
}

TEST(several_are_none)
{
	struct lang_image found = { 0 };

	make();
	for (uint32_t i = 0; i < 3; i++)
		put_call(i, i, 6, 0xe8);
	for (uint32_t i = 3; i < 6; i++)
		put_call(i, i, 7, 0xe8);
	CHECK(perl_find_again(&text, &found) < 0);
	CHECK(!found.code.n);
}

int main(void)
{
	RUN(what_takes_those_that_call_it);
	RUN(several_are_none);
	return TEST_END();
}
