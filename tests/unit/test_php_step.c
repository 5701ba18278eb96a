/* SPDX-License-Identifier: MIT */
/* The step over PHP's frames, in memory that is laid out here as 8.2 does; names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x8000u

struct php_env {
	uint8_t bytes[SIZE];
};

static int php_read(struct php_env *env, void *dst, uint32_t size, uint64_t address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#include "bpf/php_step.h"

/* Addresses. */
enum {
	CURRENT = BASE + 0x10,
	FRAMES = BASE + 0x1000,		/* one every 0x100 bytes */
	CODES = BASE + 0x2000,		/* the same */
	STRINGS = BASE + 0x3000,	/* one every 0x40 bytes */
	OPS = BASE + 0x4000,		/* one function's every 0x100 bytes: eight instructions */
	CLASS = BASE + 0x5000,
	GENERATORS = BASE + 0x6000,	/* one every 0x200 bytes */
};

#define FRAME(n)     (FRAMES + (n) * 0x100u)
#define CODE(n)	     (CODES + (n) * 0x100u)
#define STRING(n)    (STRINGS + (n) * 0x40u)
#define OP(n, i)     (OPS + (n) * 0x100u + (i) * 32u)
#define GENERATOR(n) (GENERATORS + (n) * 0x200u)
#define FILE_NAME    63		/* the string's number */
#define CLASS_NAME   62
#define TOP	     (1u << 17)

static const struct ebp_php of_8_2 = {
	.current = CURRENT - BASE, .version = 802, .file = 152, .lines = 160, .user_bytes = 168,
	.last = 80, .opcodes = 88, .handler = 72, .internal_bytes = 80, .generator_data = 56,
	.generator_parent = 152, .generator_fake = 184,
};

static struct php_env memory;
static struct php_state s;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put32(uint32_t address, uint32_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put_string(uint32_t n)
{
	put64(STRING(n), 1 | 0x16ull << 32);
	put64(STRING(n) + 8, 1000 + n);
	put64(STRING(n) + 16, 3);
}

/* Functions 0 to 7 of @kind, each of eight instructions at lines 10 * number and up. */
static void put_code(uint32_t n, uint8_t kind, uint32_t in_class)
{
	put64(CODE(n), kind);
	put64(CODE(n) + 8, STRING(n));
	put64(CODE(n) + 16, in_class);
	put_string(n);
	if (kind == PHP_INTERNAL) {
		put64(CODE(n) + 72, 0x4000 + n);
		return;
	}
	put32(CODE(n) + 80, 8);
	put64(CODE(n) + 88, OP(n, 0));
	put64(CODE(n) + 152, STRING(FILE_NAME));
	put32(CODE(n) + 160, 10 * n);
	for (uint32_t i = 0; i < 8; i++)
		put32(OP(n, i) + 24, 10 * n + i);
}

static void put_frame(uint32_t frame, uint32_t code, uint32_t op, uint32_t back, uint32_t info)
{
	put64(frame, op);
	put64(frame + 24, code);
	put32(frame + 40, info);
	put64(frame + 48, back);
}

static void make(void)
{
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	put_string(FILE_NAME);
	put_string(CLASS_NAME);
	put64(CLASS + 8, STRING(CLASS_NAME));
	put64(CURRENT, FRAME(0));
	for (uint32_t i = 0; i < 8; i++)
		put_code(i, PHP_USER, 0);
}

static int begin(void)
{
	return php_begin(&memory, &s, &of_8_2, BASE, 0, 0, 0);
}

static int step(void)
{
	return php_step(&memory, &s, &of_8_2);
}

static void is_frame(uint32_t code, uint32_t place, uint32_t entry)
{
	CHECK_EQ(step(), 0);
	CHECK_EQ(s.code, code);
	CHECK_EQ(s.place, place);
	CHECK_EQ(s.entry, entry);
}

TEST(functions_internal_ones_and_calls_from_c)
{
	make();
	put_code(1, PHP_INTERNAL, CLASS);
	put_code(3, PHP_EVAL, 0);
	put64(CODE(3) + 8, 0);
	put_frame(FRAME(0), CODE(0), OP(0, 3), FRAME(1), TOP);
	put_frame(FRAME(1), CODE(1), 0, FRAME(2), TOP);
	/* A frame that was made for a call from C has no function. */
	put_frame(FRAME(2), 0, 0, FRAME(3), TOP);
	put_frame(FRAME(3), CODE(2), OP(2, 7), FRAME(4), 0);
	put_frame(FRAME(4), CODE(3), OP(3, 1), 0, TOP);
	CHECK_EQ(begin(), 0);
	is_frame(CODE(0), 3, 1);
	is_frame(CODE(1), EBP_PLACE_NONE, 0);
	CHECK_EQ(s.scope_name, STRING(CLASS_NAME));
	is_frame(0, EBP_PLACE_NONE, 0);
	is_frame(CODE(2), 27, 0);
	CHECK_EQ(s.scope_name, 0);
	is_frame(CODE(3), 31, 1);
	CHECK_EQ(s.frame, 0);
	CHECK(step() < 0);
}

TEST(nothing_runs)
{
	make();
	put64(CURRENT, 0);
	CHECK(begin() < 0);
	CHECK(php_begin(&memory, &s, &of_8_2, 0x900000, 0, 0, 0) < 0);
}

/* Of a thread-safe build each thread has its own, by a key. */
TEST(a_thread_has_its_globals)
{
	struct ebp_php o = of_8_2;
	const uint64_t tp = GENERATORS, globals = GENERATORS + 0x800, key = CURRENT + 0x20;

	make();
	o.current = key - BASE;
	o.keys = 0x310;
	o.globals = key + 8 - BASE;
	o.in_globals = 0x18;
	put64(CURRENT, 0);
	put32(key, 3);
	put64(key + 8, 0x100);
	CHECK(php_begin(&memory, &s, &o, BASE, tp, 0, 0) < 0);
	put64(tp + 0x310 + 3 * 16 + 8, globals);
	put64(globals + 0x100 + 0x18, FRAME(0));
	put_frame(FRAME(0), CODE(0), OP(0, 1), 0, TOP);
	CHECK_EQ(php_begin(&memory, &s, &o, BASE, tp, 0, 0), 0);
	CHECK_EQ(step(), 0);
	CHECK_EQ(s.code, CODE(0));
	put32(key, PHP_KEYS);
	CHECK(php_begin(&memory, &s, &o, BASE, tp, 0, 0) < 0);
}

static uint32_t first_place(uint64_t fp, uint64_t ip)
{
	CHECK_EQ(php_begin(&memory, &s, &of_8_2, BASE, 0, fp, ip), 0);
	CHECK_EQ(step(), 0);
	return s.place;
}

TEST(the_register_has_the_place_where_the_interpreter_runs)
{
	make();
	put_frame(FRAME(0), CODE(1), OP(1, 2), FRAME(1), 0);
	put_frame(FRAME(1), CODE(1), OP(1, 4), 0, TOP);
	CHECK_EQ(first_place(FRAME(0), OP(1, 5)), 15);
	/* It is the first frame's alone. */
	CHECK_EQ(step(), 0);
	CHECK_EQ(s.place, 14);
	/* It has something else. */
	CHECK_EQ(first_place(FRAME(1), OP(1, 5)), 12);
	CHECK_EQ(first_place(FRAME(0), OP(1, 8)), 12);
	CHECK_EQ(first_place(FRAME(0), OP(1, 5) + 8), 12);
	CHECK_EQ(first_place(FRAME(0), OP(0, 5)), 12);
	/* None is in memory: another function left that there, or an exception is under way. */
	put64(FRAME(0), OP(2, 2));
	CHECK_EQ(first_place(0, 0), EBP_PLACE_NONE);
}

TEST(generators_that_wait_for_others)
{
	make();
	/* The first one, 0, waits for 1, that for 2, which runs. */
	for (uint32_t i = 0; i < 3; i++) {
		put64(GENERATOR(i) + 56, FRAME(4 + i));
		put64(GENERATOR(i) + 152, i < 2 ? GENERATOR(i + 1) : 0);
		put_frame(FRAME(4 + i), CODE(4 + i), OP(4 + i, 1), 0, TOP);
	}
	put64(CURRENT, FRAME(6));
	put64(FRAME(6) + 48, GENERATOR(0) + 184);
	put_frame(GENERATOR(0) + 184, 0, 0, FRAME(0), 0x300 | PHP_IS_OBJECT);
	put64(GENERATOR(0) + 184 + 32, GENERATOR(0));
	put_frame(FRAME(0), CODE(0), OP(0, 0), 0, TOP);
	CHECK_EQ(begin(), 0);
	is_frame(CODE(6), 61, 1);
	is_frame(0, EBP_PLACE_NONE, 0);
	is_frame(CODE(5), 51, 0);
	is_frame(CODE(4), 41, 0);
	is_frame(CODE(0), EBP_PLACE_NONE, 1);
	CHECK(step() < 0);
	/* A chain that ends nowhere has an end. */
	put64(GENERATOR(2) + 152, GENERATOR(0));
	CHECK_EQ(begin(), 0);
	for (int i = 0; i < 2 + PHP_CHAIN + 1; i++)
		CHECK_EQ(step(), 0);
	CHECK_EQ(s.code, CODE(0));
	CHECK(step() < 0);
	/* An object that is no generator. */
	put64(GENERATOR(0) + 184 + 32, GENERATOR(1));
	CHECK_EQ(begin(), 0);
	is_frame(CODE(6), 61, 1);
	is_frame(0, EBP_PLACE_NONE, 0);
	is_frame(CODE(0), EBP_PLACE_NONE, 1);
}

static int first_step(void)
{
	CHECK_EQ(begin(), 0);
	return step();
}

TEST(what_is_no_function_ends_it)
{
	make();
	put_frame(FRAME(0), CODE(0), OP(0, 1), 0, TOP);
	CHECK_EQ(first_step(), 0);
	put64(CODE(0), 3);
	CHECK(first_step() < 0);
	CHECK_EQ(s.code, 0);
	put64(CODE(0), PHP_USER);
	/* Its name is no string, nor its file, nor its class's name. */
	put64(STRING(0), 1 | 7ull << 32);
	CHECK(first_step() < 0);
	put_string(0);
	put64(CODE(0) + 152, 0);
	CHECK(first_step() < 0);
	put64(CODE(0) + 152, STRING(FILE_NAME));
	put64(CODE(0) + 16, CLASS + 8);
	CHECK(first_step() < 0);
	put64(CODE(0) + 16, CLASS);
	CHECK_EQ(first_step(), 0);
	put64(CURRENT, 0x12345678);
	CHECK(first_step() < 0);
}

static uint64_t identity(void)
{
	CHECK_EQ(first_step(), 0);
	return s.identity;
}

TEST(what_tells_code_from_others)
{
	uint64_t first, copy = CODE(9);

	make();
	put_frame(FRAME(0), CODE(0), OP(0, 1), 0, TOP);
	first = identity();
	/* Each object of a closure has a copy of its function. */
	memcpy(memory.bytes + (copy - BASE), memory.bytes + (CODE(0) - BASE), 0x100);
	put64(FRAME(0) + 24, copy);
	CHECK_EQ(identity(), first);
	/* Its name and its file are others, in the same memory; so is its class. */
	put64(STRING(0) + 8, 77);
	CHECK(identity() != first);
	put_string(0);
	put64(STRING(FILE_NAME) + 8, 77);
	CHECK(identity() != first);
	put_string(FILE_NAME);
	CHECK_EQ(identity(), first);
	put32((uint32_t)copy + 160, 5);
	CHECK(identity() != first);
	put32((uint32_t)copy + 160, 0);
	put64((uint32_t)copy + 16, CLASS);
	CHECK(identity() != first);
	first = identity();
	put64(STRING(CLASS_NAME) + 8, 77);
	CHECK(identity() != first);
}

/* The name that @code has, of a record in which it has @name, and @file. */
static void is_named(const char *name, const char *scope, const char *file, const char *expected)
{
	struct ebp_code *r = calloc(1, sizeof(*r));
	struct lang_code c;

	r->language = EBP_LANGUAGE_PHP;
	r->name = (struct ebp_text){ .length = (uint32_t)strlen(name), .width = EBP_TEXT_UTF8 };
	r->scope = (struct ebp_text){ .length = (uint32_t)strlen(scope), .width = EBP_TEXT_UTF8 };
	r->file = (struct ebp_text){ .length = (uint32_t)strlen(file), .width = EBP_TEXT_UTF8 };
	memcpy(r->name_bytes, name, strlen(name));
	memcpy(r->scope_bytes, scope, strlen(scope));
	memcpy(r->file_bytes, file, strlen(file));
	CHECK_EQ(lang_code_decode(r, sizeof(*r), &c), 0);
	c.ops->complete(&c, r, NULL);
	CHECK_STR(c.name, expected);
	CHECK_EQ(c.ops->line(&c, 7), 7);
	CHECK_EQ(c.ops->line(&c, EBP_PLACE_NONE), 0);
	lang_code_free(&c);
	free(r);
}

TEST(names)
{
	is_named("spin", "", "/srv/a.php", "spin");
	is_named("work", "App\\Thing", "/srv/a.php", "App\\Thing::work");
	is_named("", "", "/srv/a.php", "<a.php>");
	is_named("", "", "Standard input code", "<Standard input code>");
	is_named("", "", "/srv/", "</srv/>");
	is_named("", "", "", "");
}

int main(void)
{
	RUN(functions_internal_ones_and_calls_from_c);
	RUN(nothing_runs);
	RUN(a_thread_has_its_globals);
	RUN(the_register_has_the_place_where_the_interpreter_runs);
	RUN(generators_that_wait_for_others);
	RUN(what_is_no_function_ends_it);
	RUN(what_tells_code_from_others);
	RUN(names);
	return TEST_END();
}
