/* SPDX-License-Identifier: MIT */
/* The step over CRuby's frames, in memory that is laid out here as 2.7, 3.1 and 3.3 do. */
#include <stdint.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE 0x10000u
#define SIZE 0x8000u

struct ruby_env {
	uint8_t bytes[SIZE];
};

static int ruby_read(struct ruby_env *env, void *dst, uint32_t size, uint64_t address)
{
	memset(dst, 0, size);
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#include "bpf/ruby_describe.h"

/* Addresses. */
enum {
	BIAS = BASE,
	SLOT = BASE + 0x10,
	OBJECT = BASE + 0x20,
	IDS = BASE + 0x30,
	TP = BASE + 0x100,
	VECTOR = BASE + 0x800,
	BLOCK = BASE + 0x900,
	CONTEXT = BASE + 0xa00,
	THREAD = BASE + 0xb00,
	STACK = BASE + 0x1000,		/* environments below, frames above */
	FRAMES = STACK + 0x800,
	STACK_END = STACK + 0x1000,
	ISEQS = BASE + 0x3000,		/* one every 0x100 bytes, as are their bodies, names, */
	BODIES = BASE + 0x4000,
	NAMES = BASE + 0x5000,
	METHODS = BASE + 0x5800,	/* ... methods and classes */
	CLASSES = BASE + 0x6000,
	TABLES = BASE + 0x7000,
};

#define AT(place, n) ((place) + (n) * 0x100u)
#define IMEMO(kind) (RUBY_IMEMO | (kind) << 12)
#define METHOD_FRAME 0x11110001u
#define BLOCK_FRAME 0x22220001u

static const struct ebp_ruby of_2_7 = {
	.slot = SLOT - BIAS, .object = OBJECT - BIAS, .ids = IDS - BIAS, .thread_id = 72,
	.thread_ec = 32, .frame_bytes = 56, .insns = 120, .entry_bytes = 8, .last_operator = 168,
	.flags = EBP_RUBY_KEY | EBP_RUBY_SHORT | EBP_RUBY_VARIABLES, .singleton = 0x1000,
};
static const struct ebp_ruby of_3_3 = {
	.slot = SLOT - BIAS, .object = OBJECT - BIAS, .ids = IDS - BIAS, .distance = 0x10,
	.frame_bytes = 56, .insns = 112, .entry_bytes = 12, .last_operator = 169,
	.class_name = 152, .class_attached = 128, .singleton = 0x1000,
};

static struct ruby_env memory;
static struct ruby_state s;
static union {
	struct ebp_code code;
	uint8_t room[sizeof(struct ebp_code) + EBP_CODE_TABLE];
} record;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

/* A string of at most 16 bytes at @address. */
static void put_string(const struct ebp_ruby *o, uint32_t address, const char *text)
{
	size_t n = strlen(text);
	int is_short = !!(o->flags & EBP_RUBY_SHORT);

	put64(address, RUBY_STRING | (is_short ? n << 14 : 0));
	if (!is_short)
		put64(address + 16, n);
	memcpy(memory.bytes + (address + (is_short ? 16 : 24) - BASE), text, n);
}

/* A thread that runs frame 0. */
static void make(const struct ebp_ruby *o)
{
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	put64(SLOT, 2);			/* the key, or the module */
	put64(TP + RUBY_PTHREAD_KEYS + 2 * 16 + 8, THREAD);
	put64(THREAD + 72, TP);
	put64(THREAD + 32, CONTEXT);
	put64(TP + 8, VECTOR);
	put64(VECTOR + 2 * 16, BLOCK);
	put64(BLOCK + 0x10, CONTEXT);
	put64(CONTEXT, STACK);
	put64(CONTEXT + 8, (STACK_END - STACK) / 8);
	put64(CONTEXT + 16, STACK_END - 3u * o->frame_bytes);
	for (uint32_t i = 0; i < 8; i++) {
		put64(AT(ISEQS, i), IMEMO(RUBY_ISEQ));
		put64(AT(ISEQS, i) + 16, AT(BODIES, i));
		put64(AT(BODIES, i), 100ull << 32);
		put64(AT(BODIES, i) + 8, 0x500000 + i);
		put64(AT(BODIES, i) + 80, AT(NAMES, i));
		put_string(o, AT(NAMES, i), "name");
		put64(AT(METHODS, i), IMEMO(RUBY_METHOD));
		put64(AT(METHODS, i) + 32, AT(CLASSES, i));
	}
}

static uint32_t env_of(uint32_t i)
{
	return STACK + 0x40 + i * 0x40;
}

/* Frame @i of three, the innermost is 0. */
static void frame(const struct ebp_ruby *o, uint32_t i, uint64_t flags, uint32_t method,
		  uint32_t previous, uint64_t place)
{
	uint32_t at = STACK_END - (3 - i) * o->frame_bytes;

	put64(at, 0x500000 + i + place * 8);
	put64(at + 16, AT(ISEQS, i));
	put64(at + 32, env_of(i));
	put64(env_of(i) - 16, method);
	put64(env_of(i) - 8, previous | 1);
	put64(env_of(i), flags);
}

static int step(const struct ebp_ruby *o)
{
	int err = ruby_step(&memory, &s, o);

	if (err)
		return err;
	ruby_code(&memory, &s);
	for (int i = 0; i < RUBY_HOPS && ruby_hop(&memory, &s); i++)
		;
	ruby_of_method(&s);
	return 0;
}

static void frames_of(const struct ebp_ruby *o)
{
	make(o);
	frame(o, 0, BLOCK_FRAME, 0, env_of(1), 7);
	frame(o, 1, METHOD_FRAME | RUBY_FRAME_FINISH | RUBY_ENV_LOCAL, AT(METHODS, 1), 0, 0);
	frame(o, 2, RUBY_FRAME_DUMMY | RUBY_FRAME_FINISH | RUBY_ENV_LOCAL, 0, 0, 0);
	CHECK_EQ(ruby_begin(&memory, &s, o, BIAS, TP), 0);
	CHECK_EQ(step(o), 0);
	CHECK(s.identity && s.has_code && !s.entry);
	CHECK_EQ(s.place, 6);
	CHECK_EQ(s.method, AT(METHODS, 1));
	CHECK_EQ(step(o), 0);
	CHECK(s.identity && s.entry);
	CHECK_EQ(s.place, 0);
	CHECK_EQ(step(o), 0);
	CHECK(!s.identity && !s.has_code);
	CHECK_EQ(s.frame, s.end);
	CHECK(step(o) < 0);
}

TEST(frames_of_each_version)
{
	frames_of(&of_2_7);
	frames_of(&of_3_3);
}

TEST(methods_in_c)
{
	make(&of_3_3);
	frame(&of_3_3, 0, RUBY_FRAME_C | RUBY_FRAME_OF_C | RUBY_ENV_LOCAL, AT(METHODS, 0), 0, 0);
	put64(AT(METHODS, 0) + 16, 0x1234);
	CHECK_EQ(ruby_begin(&memory, &s, &of_3_3, BIAS, TP), 0);
	CHECK_EQ(step(&of_3_3), 0);
	CHECK(s.is_c && s.identity && !s.has_code);
	CHECK_EQ(s.place, EBP_PLACE_NONE);
}

TEST(a_method_behind_special_variables)
{
	make(&of_3_3);
	put64(AT(METHODS, 4), IMEMO(RUBY_SVAR));
	put64(AT(METHODS, 4) + 8, AT(METHODS, 1));
	frame(&of_3_3, 0, METHOD_FRAME | RUBY_ENV_LOCAL, AT(METHODS, 4), 0, 0);
	CHECK_EQ(ruby_begin(&memory, &s, &of_3_3, BIAS, TP), 0);
	CHECK_EQ(step(&of_3_3), 0);
	CHECK_EQ(s.method, AT(METHODS, 1));
}

TEST(a_thread_that_is_not_rubys)
{
	make(&of_2_7);
	put64(THREAD + 72, TP + 8);
	CHECK(ruby_begin(&memory, &s, &of_2_7, BIAS, TP) < 0);
	make(&of_2_7);
	put64(SLOT, RUBY_KEYS);
	CHECK(ruby_begin(&memory, &s, &of_2_7, BIAS, TP) < 0);
	make(&of_3_3);
	put64(VECTOR + 2 * 16, ~0ull);
	CHECK(ruby_begin(&memory, &s, &of_3_3, BIAS, TP) < 0);
	make(&of_3_3);
	put64(SLOT, RUBY_MODULES);
	CHECK(ruby_begin(&memory, &s, &of_3_3, BIAS, TP) < 0);
	make(&of_3_3);
	put64(CONTEXT + 16, STACK_END + 8);
	CHECK(ruby_begin(&memory, &s, &of_3_3, BIAS, TP) < 0);
}

TEST(what_is_no_code_has_no_identity)
{
	make(&of_3_3);
	frame(&of_3_3, 0, METHOD_FRAME, 0, 0, 0);
	put64(AT(ISEQS, 0), IMEMO(RUBY_METHOD));
	CHECK_EQ(ruby_begin(&memory, &s, &of_3_3, BIAS, TP), 0);
	CHECK_EQ(step(&of_3_3), 0);
	CHECK(s.has_code && !s.identity);
	/* Nor has a place that is not in it one. */
	make(&of_3_3);
	frame(&of_3_3, 0, METHOD_FRAME, 0, 0, 200);
	CHECK_EQ(ruby_begin(&memory, &s, &of_3_3, BIAS, TP), 0);
	CHECK_EQ(step(&of_3_3), 0);
	CHECK_EQ(s.place, EBP_PLACE_NONE);
}

static uint64_t identity(void)
{
	CHECK_EQ(ruby_begin(&memory, &s, &of_3_3, BIAS, TP), 0);
	CHECK_EQ(step(&of_3_3), 0);
	return s.identity;
}

TEST(another_code_at_the_same_address_has_another_identity)
{
	uint64_t first;

	make(&of_3_3);
	frame(&of_3_3, 0, METHOD_FRAME | RUBY_ENV_LOCAL, AT(METHODS, 1), 0, 3);
	first = identity();
	CHECK_EQ(identity(), first);
	put_string(&of_3_3, AT(NAMES, 0), "mane");
	CHECK(identity() != first);
	put_string(&of_3_3, AT(NAMES, 0), "name");
	CHECK_EQ(identity(), first);
	put64(AT(METHODS, 1) + 32, AT(CLASSES, 2));
	CHECK(identity() != first);
}

/* The name of the class of method 1. */
static int scope_is(const struct ebp_ruby *o, const char *name, int single)
{
	memset(&record, 0, sizeof(record));
	frame(o, 0, METHOD_FRAME | RUBY_ENV_LOCAL, AT(METHODS, 1), 0, 3);
	CHECK_EQ(ruby_begin(&memory, &s, o, BIAS, TP), 0);
	CHECK_EQ(step(o), 0);
	CHECK_EQ(ruby_owner(&memory, &s, o), single);
	ruby_class_name(&memory, &s, o);
	ruby_text(&memory, &s, o, &record.code, RUBY_SCOPE);
	return record.code.scope.length == strlen(name) &&
	       !memcmp(record.code.scope_bytes, name, strlen(name));
}

TEST(names_of_classes_of_3_3)
{
	make(&of_3_3);
	put64(AT(CLASSES, 1), RUBY_CLASS);
	put64(AT(CLASSES, 1) + 152, AT(NAMES, 7));
	put_string(&of_3_3, AT(NAMES, 7), "Some::Thing");
	CHECK(scope_is(&of_3_3, "Some::Thing", 0));
	put64(AT(CLASSES, 2), RUBY_MODULE);
	put64(AT(CLASSES, 2) + 152, AT(NAMES, 7));
	put64(AT(CLASSES, 1), RUBY_CLASS | 0x1000);
	put64(AT(CLASSES, 1) + 128, AT(CLASSES, 2));
	CHECK(scope_is(&of_3_3, "Some::Thing", 1));
	/* Of an object that is no class. */
	put64(AT(CLASSES, 2), 1);
	CHECK(scope_is(&of_3_3, "", 1));
	/* No name yet: nil. */
	put64(AT(CLASSES, 1), RUBY_CLASS);
	put64(AT(CLASSES, 1) + 152, 4);
	CHECK(scope_is(&of_3_3, "", 0));
}

/* Class @i with one variable. */
static void put_variable(uint32_t i, uint64_t key, uint64_t value)
{
	put64(AT(CLASSES, i), RUBY_CLASS);
	put64(AT(CLASSES, i) + 24, AT(CLASSES, i) + 0x40);
	put64(AT(CLASSES, i) + 0x48, AT(CLASSES, i) + 0x60);
	put64(AT(CLASSES, i) + 0x60 + 40, 1);
	put64(AT(CLASSES, i) + 0x60 + 48, AT(TABLES, i));
	put64(AT(TABLES, i), 5);
	put64(AT(TABLES, i) + 8, key);
	put64(AT(TABLES, i) + 16, value);
}

TEST(names_of_classes_of_2_7)
{
	make(&of_2_7);
	put64(OBJECT, AT(CLASSES, 0));
	put_variable(0, 77, AT(NAMES, 0));
	put_variable(1, 77, AT(NAMES, 7));
	put_string(&of_2_7, AT(NAMES, 7), "Thing");
	CHECK(scope_is(&of_2_7, "Thing", 0));
	/* A variable of the program's own, */
	put_variable(1, 78, AT(NAMES, 7));
	CHECK(scope_is(&of_2_7, "", 0));
	/* and one that is gone. */
	put_variable(1, 77, AT(NAMES, 7));
	put64(AT(TABLES, 1), RUBY_HASH_NONE);
	CHECK(scope_is(&of_2_7, "", 0));
	put_variable(1, 79, AT(CLASSES, 2));
	put64(AT(CLASSES, 1), RUBY_CLASS | 0x1000);
	put_variable(2, 77, AT(NAMES, 7));
	put64(AT(CLASSES, 2) + 8, AT(CLASSES, 1));
	CHECK(scope_is(&of_2_7, "Thing", 1));
}

int main(void)
{
	RUN(frames_of_each_version);
	RUN(methods_in_c);
	RUN(a_method_behind_special_variables);
	RUN(a_thread_that_is_not_rubys);
	RUN(what_is_no_code_has_no_identity);
	RUN(another_code_at_the_same_address_has_another_identity);
	RUN(names_of_classes_of_3_3);
	RUN(names_of_classes_of_2_7);
	return TEST_END();
}
