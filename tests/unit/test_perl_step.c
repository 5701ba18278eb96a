/* SPDX-License-Identifier: MIT */
/* The step over Perl's contexts, in memory that is laid out here as a threaded 5.36 does. */
#include <stdint.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x8000u

struct perl_env {
	uint8_t bytes[SIZE];
};

static int perl_read(struct perl_env *env, void *dst, uint32_t size, uint64_t address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

static int perl_read_text(struct perl_env *env, void *dst, uint32_t size, uint64_t address)
{
	size_t n;

	if (address < BASE || address - BASE >= SIZE)
		return -1;
	n = strnlen((const char *)env->bytes + (address - BASE), size - 1);
	memcpy(dst, env->bytes + (address - BASE), n);
	((char *)dst)[n] = '\0';
	return (int)n + 1;
}

#include "bpf/perl_step.h"

/* Addresses. */
enum {
	KEY = BASE + 0x10,
	THREAD = BASE + 0x100,
	INTERPRETER = BASE + 0x800,
	STACKS = BASE + 0x1000,		/* PERL_SI, one every 0x100 bytes */
	CONTEXTS = BASE + 0x2000,	/* one stack's every 0x400 bytes */
	COPS = BASE + 0x3000,		/* one every 0x40 bytes: its number is its line */
	SUBS = BASE + 0x4000,		/* one every 0x100 bytes: CV, body, GV, its body */
	STASH = BASE + 0x5000,
	NAMES = BASE + 0x5800,		/* HEKs: here their hashes and lengths */
	FILE_NAME = BASE + 0x6000,
};

#define STACK(n)  (STACKS + (n) * 0x100u)
#define COP(n)	  (COPS + (n) * 0x40u)
#define SUB(n)	  (SUBS + (n) * 0x100u)
#define NAME(n)	  (NAMES + (n) * 8u)
#define LIST(n)	  (0x700000u + (n))

static const struct ebp_perl of_5_36 = {
	.key = KEY - BASE, .version = 536, .cop = 208, .context_bytes = 104, .context_cv = 72,
	.stack_type = 44, .op_state = 195, .op_require = 342, .keys = 0x310,
};

static struct perl_env memory;
static struct perl_state s;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put32(uint32_t address, uint32_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

/* Sub @n's first op is a statement of line @n; it has a glob, or a name alone. */
static void put_sub(uint32_t n, int is_named)
{
	uint32_t body = SUB(n) + 0x10, glob = SUB(n) + 0x80;

	put64(SUB(n), body);
	put32(SUB(n) + 12, 13);
	put64(body + 32, STASH);
	put64(body + 40, COP(n));
	put64(body + 56, is_named ? NAME(n) : glob);
	put64(body + 64, FILE_NAME);
	put32(body + 92, is_named ? 0x8000 : 0);
	put64(glob, glob + 8);
	put64(glob + 8 + 32, NAME(n));
	put64(glob + 8 + 40, STASH);
}

static void put_stack(uint32_t n, uint32_t back, uint32_t top)
{
	put64(STACK(n), LIST(n));
	put64(STACK(n) + 8, CONTEXTS + n * 0x400);
	put64(STACK(n) + 16, back);
	put32(STACK(n) + 32, top);
}

#define BY_C	0x100u	/* with a type: it returns to no op */

static void put_context(uint32_t stack, uint32_t i, uint32_t type, uint32_t line, uint32_t sub)
{
	uint32_t at = CONTEXTS + stack * 0x400 + i * 104;

	put64(at, (uint8_t)type);
	put64(at + 16, COP(line));
	put64(at + 48, type & BY_C ? 0 : 0x1234);
	put64(at + 72, sub);
}

static void make(void)
{
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	put32(KEY, 3);
	put64(THREAD + 0x310 + 3 * 16 + 8, INTERPRETER);
	put64(INTERPRETER + 208, COP(30));
	put64(INTERPRETER + 216, LIST(0));
	put64(INTERPRETER + 224, STACK(0));
	for (uint32_t i = 1; i < 60; i++) {
		put32(COP(i) + 32, 195);
		put32(COP(i) + 36, i);
		put64(COP(i) + 48, FILE_NAME);
	}
	put64(STASH, STASH + 0x40);
	memcpy(memory.bytes + (FILE_NAME - BASE), "a.pl", 5);
	for (uint32_t i = 0; i < 4; i++)
		put64(NAME(i), 0x1000 + i);
	put_sub(1, 0);
	put_sub(2, 1);
}

static int begin(void)
{
	return perl_begin(&memory, &s, &of_5_36, BASE, THREAD);
}

enum { INSIDE, ENTRY };

/*
 * The next frame; what is none is left out, and whether C called it. @is_empty: first there is a
 * call of C's that runs none.
 */
static void is_frame_behind(int is_empty, uint64_t code, uint32_t place, uint32_t entry)
{
	uint32_t called = 0;
	int err;

	do {
		err = perl_step(&memory, &s, &of_5_36);
		called += !s.code && s.entry;
	} while (!err && !s.code);
	CHECK_EQ(err, 0);
	CHECK_EQ(s.code, code);
	CHECK_EQ(s.place, place);
	CHECK_EQ(s.entry, entry);
	CHECK_EQ((int)called, is_empty);
}

static void is_frame(uint64_t code, uint32_t place, uint32_t entry)
{
	is_frame_behind(0, code, place, entry);
}

static void is_end(void)
{
	while (!s.ended)
		CHECK_EQ(perl_step(&memory, &s, &of_5_36), 0);
	CHECK_EQ(s.code, 0);
}

TEST(subs_and_evals)
{
	make();
	put_stack(0, 0, 3);
	put_context(0, 3, 0x29, 22, SUB(1));
	put_context(0, 2, 0x29, 23, SUB(2));
	put_context(0, 1, 0x4b, 24, 0);
	put_context(0, 0, 2, 25, 0);
	CHECK_EQ(begin(), 0);
	is_frame(SUB(1), 30, INSIDE);
	CHECK_EQ(s.name, NAME(1));
	CHECK_EQ(s.stash, STASH);
	CHECK_EQ(s.file, FILE_NAME);
	is_frame(SUB(2), 22, INSIDE);
	CHECK_EQ(s.name, NAME(2));
	CHECK_EQ(s.stash, STASH);
	is_frame(PERL_CODE_EVAL, 23, INSIDE);
	is_frame(PERL_CODE_FILE, 24, ENTRY);
	CHECK(s.ended);
}

/* Of each the interpreter's loop was called by C. */
TEST(stacks_of_callbacks)
{
	make();
	/* A sub that compares for sort, what overloads an operator, within an eval of C's. */
	put_stack(0, STACK(1), 0);
	put_context(0, 0, BY_C | 0x29, 20, SUB(1));
	put_stack(1, STACK(2), 1);
	put32(STACK(1) + 44, 4);
	put_context(1, 1, BY_C | 0x29, 21, SUB(2));
	put_context(1, 0, BY_C | 0x4b, 22, 0);
	put_stack(2, 0, 0);
	put_context(2, 0, 2, 25, 0);
	put32(STACK(0) + 44, 3);
	CHECK_EQ(begin(), 0);
	is_frame(SUB(1), 30, ENTRY);
	is_frame(SUB(2), 20, ENTRY);
	is_frame(PERL_CODE_EVAL, 21, INSIDE);
	is_frame(PERL_CODE_FILE, 22, ENTRY);
}

TEST(blocks_that_c_runs)
{
	make();
	/* The last op of sort's block is a call: both are one run. */
	put_stack(0, STACK(1), 2);
	put32(STACK(0) + 44, 3);
	put_context(0, 2, 0x29, 20, SUB(2));
	put_context(0, 1, BY_C | 0x29, 21, SUB(1));
	put_context(0, 0, 0, 22, 0);
	/* Code in a regular expression is no call. */
	put_stack(1, STACK(2), 1);
	put_context(1, 1, 0x29, 23, SUB(2));
	put_context(1, 0, BY_C | 0xd9, 24, SUB(1));
	put_stack(2, 0, 0);
	put_context(2, 0, 2, 25, 0);
	CHECK_EQ(begin(), 0);
	is_frame(SUB(2), 30, INSIDE);
	is_frame(SUB(1), 20, ENTRY);
	is_frame(SUB(2), 21, INSIDE);
	is_frame_behind(1, PERL_CODE_FILE, 23, ENTRY);
	/* Nothing is called in the block. */
	put_stack(0, STACK(2), 0);
	put32(STACK(0) + 44, 3);
	CHECK_EQ(begin(), 0);
	is_frame_behind(1, PERL_CODE_FILE, 30, ENTRY);
	/* A sub of its own, whose last op is a call. */
	put_stack(0, STACK(2), 1);
	put32(STACK(0) + 44, 10);
	put_context(0, 1, BY_C | 0x29, 20, SUB(1));
	put_context(0, 0, BY_C | 0x59, 21, SUB(2));
	CHECK_EQ(begin(), 0);
	is_frame(SUB(1), 30, ENTRY);
	CHECK(!s.not_entry);
	is_frame(SUB(2), 20, ENTRY);
	CHECK(s.not_entry);
}

/* BEGIN and END, and programs that have a Perl in them. */
TEST(the_program_itself_does_not_run)
{
	make();
	put_stack(0, STACK(1), 0);
	put_context(0, 0, BY_C | 0x29, 20, SUB(1));
	put_stack(1, 0, (uint32_t)-1);
	CHECK_EQ(begin(), 0);
	is_frame(SUB(1), 30, ENTRY);
	is_end();
}

TEST(files_and_evals_of_texts)
{
	uint64_t of_a;

	make();
	put_stack(0, 0, 1);
	put_context(0, 1, 0x2b, 20, 0);
	put_context(0, 0, 2, 25, 0);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_EVAL, 30, INSIDE);
	of_a = s.identity;
	/* It was required. */
	put64(CONTEXTS + 104, 0x2b | 342u << 23);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, 30, INSIDE);
	CHECK(s.identity != of_a);
	of_a = s.identity;
	memcpy(memory.bytes + (FILE_NAME - BASE), "b.pl", 5);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, 30, INSIDE);
	CHECK(s.identity != of_a);
	/* Long names differ in their last bytes, and nothing that was there before counts. */
	memset(memory.bytes + (FILE_NAME - BASE), 'x', 300);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, 30, INSIDE);
	of_a = s.identity;
	memcpy(memory.bytes + (FILE_NAME - BASE) + 296, "yyy", 3);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, 30, INSIDE);
	CHECK(s.identity != of_a);
	memcpy(memory.bytes + (FILE_NAME - BASE) + 296, "xxx", 3);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, 30, INSIDE);
	CHECK_EQ(s.identity, of_a);
}

TEST(closures_are_one_code)
{
	uint64_t identity;

	make();
	put_stack(0, 0, 0);
	put_context(0, 0, 0x29, 20, SUB(1));
	CHECK_EQ(begin(), 0);
	is_frame(SUB(1), 30, INSIDE);
	identity = s.identity;
	memcpy(memory.bytes + (SUB(3) - BASE), memory.bytes + (SUB(1) - BASE), 0x100);
	put_context(0, 0, 0x29, 20, SUB(3));
	CHECK_EQ(begin(), 0);
	is_frame(SUB(3), 30, INSIDE);
	CHECK_EQ(s.identity, identity);
	/* Its name is another one. */
	put64(NAME(1), 0x2000);
	CHECK_EQ(begin(), 0);
	is_frame(SUB(3), 30, INSIDE);
	CHECK(s.identity != identity);
	/* A sub of a sub has no package. */
	put32(SUB(2) + 0x10 + 92, 0x18000);
	put_context(0, 0, 0x29, 20, SUB(2));
	CHECK_EQ(begin(), 0);
	is_frame(SUB(2), 30, INSIDE);
	CHECK_EQ(s.stash, 0);
}

TEST(what_cannot_be_so_ends_it)
{
	make();
	put_stack(0, 0, 0);
	put_context(0, 0, 0x29, 20, 0x12345678);
	CHECK_EQ(begin(), 0);
	CHECK_EQ(perl_step(&memory, &s, &of_5_36), 0);
	CHECK(perl_step(&memory, &s, &of_5_36) < 0);
	/* No sub. */
	put_context(0, 0, 0x29, 20, SUB(1));
	put32(SUB(1) + 12, 12);
	CHECK_EQ(begin(), 0);
	CHECK_EQ(perl_step(&memory, &s, &of_5_36), 0);
	CHECK(perl_step(&memory, &s, &of_5_36) < 0);
	put_stack(0, 0, PERL_DEPTH);
	CHECK_EQ(begin(), 0);
	CHECK(perl_step(&memory, &s, &of_5_36) < 0);
	/* What is no statement has no line. */
	put_stack(0, 0, 0);
	put_context(0, 0, 2, 20, 0);
	put32(COP(30) + 32, 7);
	CHECK_EQ(begin(), 0);
	is_frame(PERL_CODE_FILE, EBP_PLACE_NONE, ENTRY);
	/* The first block of keys has no more. */
	put64(THREAD + 0x310 + PERL_KEYS * 16 + 8, INTERPRETER);
	put32(KEY, PERL_KEYS);
	CHECK(begin() < 0);
	put32(KEY, 4);
	CHECK(begin() < 0);
}

/* What is no interpreter: its two ways to its stack differ, but while one of them changes. */
TEST(an_interpreter_that_does_not_agree)
{
	make();
	put_stack(0, STACK(1), 0);
	put_stack(1, 0, 0);
	put_context(0, 0, 2, 20, 0);
	put64(INTERPRETER + 216, LIST(5));
	CHECK_EQ(begin(), 0);
	CHECK(perl_step(&memory, &s, &of_5_36) < 0);
	put64(INTERPRETER + 216, LIST(1));
	CHECK_EQ(begin(), 0);
	CHECK_EQ(perl_step(&memory, &s, &of_5_36), 0);
	put64(INTERPRETER + 224, STACK(1));
	put64(INTERPRETER + 216, LIST(0));
	put64(STACK(1) + 24, STACK(0));
	CHECK_EQ(begin(), 0);
	CHECK_EQ(perl_step(&memory, &s, &of_5_36), 0);
}

int main(void)
{
	RUN(subs_and_evals);
	RUN(stacks_of_callbacks);
	RUN(blocks_that_c_runs);
	RUN(the_program_itself_does_not_run);
	RUN(files_and_evals_of_texts);
	RUN(closures_are_one_code);
	RUN(what_cannot_be_so_ends_it);
	RUN(an_interpreter_that_does_not_agree);
	return TEST_END();
}
