/* SPDX-License-Identifier: MIT */
/* The step over Lua's calls, and their names, in memory that is laid out here as 5.4 and 5.1 do. */
#include <stdint.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x8000u

struct lua_env {
	uint8_t bytes[SIZE];
};

static int lua_read(struct lua_env *env, void *dst, uint32_t size, uint64_t address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#include "bpf/lua_describe.h"

/* Addresses. */
enum {
	MAIN = BASE + 0x100,		/* threads, one every 0x800 bytes: state, calls, values */
	CALLS = 0x100,
	VALUES = 0x500,
	GLOBAL = MAIN + 200,
	CLOSURES = BASE + 0x3000,	/* one every 0x200 bytes: closure, Proto */
	PROTO = 0x40,
	CODE = BASE + 0x5000,		/* of each function 0x100 bytes */
	CONSTANTS = BASE + 0x6000,
	LOCALS = BASE + 0x6400,
	UPVALUES = BASE + 0x6800,
	STRINGS = BASE + 0x7000,	/* one every 0x40 bytes */
	LIGHT = 0x4000123,		/* a C function */
};

#define THREAD(n)  (MAIN + (n) * 0x800u)
#define CALL(t, n) (THREAD(t) + CALLS + (n) * 0x48u)
#define VALUE(t, n) (THREAD(t) + VALUES + (n) * 16u)
#define CLOSURE(n) (CLOSURES + (n) * 0x200u)
#define STRING(n)  (STRINGS + (n) * 0x40u)

static const struct ebp_lua of_5_4 = {
	.version = 504, .status = 10, .global = 24, .ci = 32, .stack = 48, .stack_end = 40,
	.global_behind = 200, .saved = 32, .flags = 62, .fresh = 4, .tail = 32, .proto = 24,
	.upvalue = 32, .constants = 56, .code = 64, .lines = 88, .locals = 104, .upvalues = 80,
	.source = 112, .ncode = 24, .nlines = 28, .nlocals = 36, .first_line = 44,
	.far_lines = 96, .nfar_lines = 40, .upvalue_bytes = 16, .op_bits = 7, .b_at = 16,
	.b_bits = 8, .c_at = 24, .c_bits = 8, .bx_at = 15, .j_at = 7, .j_zero = 0xffffff,
	.ops = { 0, 9, 255, 14, 12, 13, 20, 11, 56, 68, 76, 255 }, .line_bytes = 1,
	.sets = { 0x3e3ffffff87bff, 0x3a638 },
};
static const struct ebp_lua of_5_1 = {
	.version = 501, .status = 10, .global = 32, .ci = 40, .stack = 64, .stack_end = 56,
	.global_behind = 184, .array = 40, .first_ci = 80, .running = 48, .function = 8,
	.saved = 24, .flags = 36, .proto = 32, .upvalue = 40, .constants = 16, .code = 24,
	.lines = 40, .locals = 48, .upvalues = 56, .source = 64, .ncode = 80, .nlines = 84,
	.nlocals = 92, .first_line = 96, .upvalue_bytes = 8, .op_bits = 6, .b_at = 23,
	.b_bits = 9, .c_at = 14, .c_bits = 9, .bx_at = 14, .j_at = 14, .j_zero = 131071,
	.ops = { 0, 4, 5, 255, 6, 255, 11, 255, 22, 28, 33, 36 }, .line_bytes = 4,
	.sets = { 0x31bc3ffc7f },
};

static struct lua_env memory;
static struct lua_state s;
static const struct ebp_lua *o;

static void put64(uint64_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put32(uint64_t address, uint32_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put16(uint64_t address, uint16_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put8(uint64_t address, uint8_t value)
{
	memory.bytes[address - BASE] = value;
}

/* Function @n, of 100 instructions, whose first line is @n. */
static void put_function(uint32_t n)
{
	uint64_t closure = CLOSURE(n), proto = closure + PROTO;

	put8(closure + 8, 6);
	put64(closure + o->proto, proto);
	put8(proto + 8, o->array ? 9 : 10);
	put64(proto + o->code, CODE + n * 0x100);
	put32(proto + o->ncode, 100);
	put32(proto + o->first_line, n);
	put64(proto + o->source, STRING(0));
	put64(proto + o->constants, CONSTANTS);
	put64(proto + o->locals, LOCALS);
	put64(proto + o->upvalues, UPVALUES);
}

enum { NOT_FRESH, FRESH = 4, TAIL = 32 };

/* Call @i of thread @t, the first one is none: of function @f, at instruction @pc; of C: @f < 0. */
static void put_call(uint32_t t, uint32_t i, int f, uint32_t pc, uint32_t flags)
{
	uint64_t at = o->array ? THREAD(t) + CALLS + i * 40 : CALL(t, i);
	uint64_t function = f < 0 ? LIGHT : CLOSURE((uint32_t)f);

	put64(at + o->function, VALUE(t, i * 2));
	if (!o->array && i)
		put64(at + 16, CALL(t, i - 1));
	put64(VALUE(t, i * 2), function);
	put32(VALUE(t, i * 2) + 8, f < 0 ? 0x16 : o->array ? 6 : 0x46);
	if (f >= 0)
		put64(at + o->saved, CODE + (uint32_t)f * 0x100 + (pc + 1) * 4);
	if (o->array)
		put32(at + o->flags, flags & TAIL);
	else
		put16(at + o->flags, (uint16_t)flags);
	put64(THREAD(t) + o->ci, at);
}

static void put_thread(uint32_t t)
{
	put8(THREAD(t) + 8, 8);
	put64(THREAD(t) + o->global, MAIN + o->global_behind);
	put64(THREAD(t) + o->stack, VALUE(t, 0));
	put64(THREAD(t) + o->stack_end, VALUE(t, 40));
	if (o->array)
		put64(THREAD(t) + o->first_ci, THREAD(t) + CALLS);
	put_call(t, 0, -1, 0, 0);
}

static void make(const struct ebp_lua *layout)
{
	o = layout;
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	for (uint32_t i = 1; i < 8; i++) {
		put_function(i);
		put8(STRING(i) + 8, 4);
		put64(CONSTANTS + i * 16, STRING(i));
		put32(CONSTANTS + i * 16 + 8, o->array ? 4 : 0x44);
		put64(UPVALUES + i * o->upvalue_bytes, STRING(i));
	}
	put_thread(0);
}

/* From the thread @word; how many run. */
static int begin(uint64_t word)
{
	if (!lua_look_at(&memory, &s, o, word))
		return 0;
	lua_begin(&memory, &s, o);
	while (lua_add_resumed(&memory, &s, o))
		;
	if (lua_is_apart(&s))
		while (lua_add_resumed(&memory, &s, o))
			;
	return (int)s.left;
}

static void is_frame(uint32_t function, uint32_t pc, uint32_t entry)
{
	int err;

	do
		err = lua_step(&memory, &s, o);
	while (!err && !s.code && !s.ended);
	CHECK_EQ(err, 0);
	CHECK_EQ(s.code, function ? CLOSURE(function) : LIGHT);
	CHECK_EQ(s.frame.pc, pc);
	CHECK_EQ(s.entry, entry);
}

static void is_end(void)
{
	int err = 0;

	while (!err && !s.ended) {
		err = lua_step(&memory, &s, o);
		CHECK_EQ(s.code, 0);
	}
	CHECK_EQ(err, 0);
}

/* Of a call: the opcode and A. */
static uint32_t op_a(uint32_t op, uint32_t a)
{
	return op | a << o->op_bits;
}

static void put_code(uint32_t function, uint32_t pc, uint32_t instruction)
{
	put32(CODE + function * 0x100 + pc * 4, instruction);
}

TEST(calls_of_5_4)
{
	make(&of_5_4);
	put_call(0, 1, -1, 0, 0);	/* C that C called is no frame */
	put_call(0, 2, 1, 10, FRESH);
	put_call(0, 3, 2, 20, NOT_FRESH);
	put_call(0, 4, -1, 0, 0);
	put_call(0, 5, 3, 30, FRESH);
	CHECK_EQ(begin(MAIN), 1);
	CHECK(s.whole);
	is_frame(3, 30, 1);
	is_frame(0, EBP_PLACE_NONE, 0);
	is_frame(2, 20, 0);
	is_frame(1, 10, 1);
	is_end();
}

/* Whether C called is what the instruction says; the running function has its place elsewhere. */
TEST(calls_of_5_1)
{
	make(&of_5_1);
	put_call(0, 1, 1, 10, 0);
	put_call(0, 2, 2, 20, 0);
	put_call(0, 3, 3, 30, 0);
	put_code(1, 10, op_a(28, 0));
	put_code(2, 20, op_a(12, 0));
	put64(MAIN + 48, CODE + 3 * 0x100 + 36 * 4);
	CHECK_EQ(begin(MAIN), 1);
	is_frame(3, 35, 1);
	is_frame(2, 20, 0);
	is_frame(1, 10, 1);
	is_end();
}

TEST(coroutines)
{
	make(&of_5_4);
	put_call(0, 1, 1, 10, FRESH);
	put_call(0, 2, -1, 0, 0);
	/* The argument of what is called. */
	put64(VALUE(0, 5), THREAD(1));
	put32(VALUE(0, 5) + 8, 0x48);
	put_thread(1);
	put_call(1, 1, 2, 20, FRESH);
	CHECK_EQ(begin(THREAD(1)), 2);
	CHECK(s.whole);
	is_frame(2, 20, 1);
	is_frame(0, EBP_PLACE_NONE, 0);
	is_frame(1, 10, 1);
	is_end();
	/* From the outer one the inner one is found, too. */
	CHECK_EQ(begin(MAIN), 2);
	/* One that has yielded, or has ended, does not run. */
	put8(THREAD(1) + 10, 1);
	CHECK_EQ(begin(MAIN), 1);
	CHECK_EQ(begin(THREAD(1)), 0);
	/* Resumed by who knows whom: its own calls alone, and there are more. */
	put8(THREAD(1) + 10, 0);
	put32(VALUE(0, 5) + 8, 0x45);
	CHECK_EQ(begin(THREAD(1)), 1);
	CHECK(!s.whole);
	is_frame(2, 20, 1);
	is_end();
	/* coroutine.wrap: an upvalue of C's closure; the thread itself is no child of it. */
	put64(VALUE(0, 4), CLOSURE(7));
	put32(VALUE(0, 4) + 8, 0x66);
	put8(CLOSURE(7) + 8, 0x26);
	put64(CLOSURE(7) + 24, LIGHT);
	put64(CLOSURE(7) + 32, THREAD(1));
	put32(CLOSURE(7) + 40, 0x48);
	CHECK_EQ(begin(THREAD(1)), 2);
	put64(CLOSURE(7) + 32, MAIN);
	CHECK_EQ(begin(MAIN), 1);
}

TEST(what_is_no_thread)
{
	make(&of_5_4);
	put_call(0, 1, 1, 10, FRESH);
	CHECK_EQ(begin(MAIN + 8), 0);
	CHECK_EQ(begin(MAIN + 4), 0);
	CHECK_EQ(begin(0), 0);
	CHECK_EQ(begin(1ull << 50), 0);
	CHECK_EQ(begin(MAIN), 1);
	put64(MAIN + 40, VALUE(0, 0));	/* its stack ends before its call */
	CHECK_EQ(begin(MAIN), 0);
	put64(MAIN + 40, VALUE(0, 40));
	put64(MAIN + 32, CALL(0, 0));	/* it runs nothing */
	CHECK_EQ(begin(MAIN), 0);
	/* What is no function ends it. */
	put64(MAIN + 32, CALL(0, 1));
	put32(VALUE(0, 2) + 8, 0x45);
	CHECK_EQ(begin(MAIN), 1);
	CHECK(lua_step(&memory, &s, o) < 0);
	put32(VALUE(0, 2) + 8, 0x46);
	put8(CLOSURE(1) + PROTO + 8, 5);
	CHECK_EQ(begin(MAIN), 1);
	CHECK(lua_step(&memory, &s, o) < 0);
}

static struct lua_naming naming;

/* The name of function 2, which function 1 has called by its instruction 10. */
static uint64_t name_it(void)
{
	uint32_t instruction;
	int reg;

	CHECK_EQ(begin(MAIN), 1);
	is_frame(2, 20, 0);
	naming = (struct lua_naming){ 0 };
	instruction = lua_instruction(&memory, &s);
	reg = lua_called(o, instruction);
	if (reg < 0)
		return 0;
	naming.left = (uint32_t)reg + 1;
	for (uint32_t i = 0; !lua_local(&memory, &s, o, &naming, i); i++)
		;
	if (naming.name || lua_before(&memory, &s, &naming, (uint32_t)reg))
		return naming.name;
	for (uint32_t i = 0; !lua_setter(&s, o, &naming, i); i++)
		;
	lua_fetched(&memory, &s, o, &naming);
	return naming.name;
}

static void make_call(const struct ebp_lua *layout)
{
	make(layout);
	put_call(0, 1, 1, 10, FRESH);
	put_call(0, 2, 2, 20, NOT_FRESH);
	if (o->array)
		put64(MAIN + 48, CODE + 2 * 0x100 + 21 * 4);
	put_code(1, 10, op_a(o->ops[EBP_LUA_CALL], 3));
	/* They set nothing. */
	for (uint32_t i = 0; i < 10; i++)
		put_code(1, i, op_a(o->array ? 30 : 70, 0));
}

TEST(names_of_5_4)
{
	make_call(&of_5_4);
	put_code(1, 5, op_a(14, 3) | 2u << 24);		/* GETFIELD */
	CHECK_EQ(name_it(), STRING(2));
	CHECK_EQ(naming.kind, EBP_LUA_NAMED);
	put_code(1, 5, op_a(9, 3) | 4u << 16);		/* GETUPVAL */
	CHECK_EQ(name_it(), STRING(4));
	put_code(1, 5, op_a(13, 3));			/* GETI */
	CHECK_EQ(name_it(), 0);
	CHECK_EQ(naming.kind, EBP_LUA_SOME_INTEGER);
	put_code(1, 5, op_a(12, 3));			/* GETTABLE */
	CHECK_EQ(name_it(), 0);
	CHECK_EQ(naming.kind, EBP_LUA_SOME_FIELD);
	/* What was called meanwhile may have set it; what has a higher register has not. */
	put_code(1, 5, op_a(14, 3) | 2u << 24);
	put_code(1, 7, op_a(68, 4));
	CHECK_EQ(name_it(), STRING(2));
	put_code(1, 7, op_a(68, 3));
	CHECK_EQ(name_it(), 0);
	CHECK_EQ(naming.kind, EBP_LUA_NO_NAME);
	put_code(1, 7, op_a(70, 0));
	/* A jump over it. */
	put_code(1, 3, 56u | (uint32_t)(0xffffff + 4) << 7);
	CHECK_EQ(name_it(), 0);
	put_code(1, 3, 56u | (uint32_t)(0xffffff + 1) << 7);
	CHECK_EQ(name_it(), STRING(2));
	/* A tail call's has none, nor has what no call called. */
	put_call(0, 2, 2, 20, TAIL);
	CHECK_EQ(name_it(), 0);
	put_call(0, 2, 2, 20, NOT_FRESH);
	put_code(1, 10, op_a(46, 3));
	CHECK_EQ(name_it(), 0);
}

TEST(locals)
{
	uint64_t row = LOCALS;

	make_call(&of_5_4);
	put32(CLOSURE(1) + PROTO + 36, 6);
	/* Five live there, one does no more. */
	for (uint32_t i = 0; i < 6; i++, row += 16) {
		put64(row, STRING(1) + i);
		put32(row + 8, i);
		put32(row + 12, i == 1 ? 10 : 50);
	}
	CHECK_EQ(name_it(), STRING(1) + 4);
	/* It begins later. */
	put32(LOCALS + 4 * 16 + 8, 11);
	CHECK_EQ(name_it(), 0);
}

TEST(names_of_5_1)
{
	make_call(&of_5_1);
	put_code(1, 5, op_a(5, 3) | 2u << 14);		/* GETGLOBAL */
	CHECK_EQ(name_it(), STRING(2));
	put_code(1, 5, op_a(11, 3) | (256u + 4) << 14);	/* SELF */
	CHECK_EQ(name_it(), STRING(4));
	put_code(1, 5, op_a(6, 3) | 4u << 14);		/* GETTABLE */
	CHECK_EQ(name_it(), 0);
	CHECK_EQ(naming.kind, EBP_LUA_SOME_FIELD);
	/* A closure's upvalues are no instructions. */
	put_code(1, 10, op_a(28, 0));
	put_code(1, 5, op_a(5, 0) | 2u << 14);
	put_code(1, 6, op_a(36, 1));
	put_code(1, 7, op_a(4, 0) | 3u << 23);
	put_code(1, 8, op_a(0, 0));
	CHECK_EQ(name_it(), STRING(2));
	/* A jump is followed: over what sets it, and over another jump. */
	put_code(1, 6, 22u | (131071u + 2) << 14);
	put_code(1, 7, op_a(5, 0) | 3u << 14);
	put_code(1, 8, 22u | (131071u + 1) << 14);
	put_code(1, 9, op_a(5, 0) | 5u << 14);
	CHECK_EQ(name_it(), STRING(5));
}

TEST(identities)
{
	uint64_t first;

	make_call(&of_5_4);
	put_code(1, 5, op_a(14, 3) | 2u << 24);
	name_it();
	first = s.identity;
	name_it();
	CHECK_EQ(s.identity, first);
	/* Called from elsewhere; a source of another name. */
	put_call(0, 1, 1, 11, FRESH);
	put_call(0, 2, 2, 20, NOT_FRESH);
	put_code(1, 11, op_a(68, 3));
	name_it();
	CHECK(s.identity != first);
	put_call(0, 1, 1, 10, FRESH);
	put_call(0, 2, 2, 20, NOT_FRESH);
	put64(STRING(0) + 24, 5);
	name_it();
	CHECK(s.identity != first);
}

int main(void)
{
	RUN(calls_of_5_4);
	RUN(calls_of_5_1);
	RUN(coroutines);
	RUN(what_is_no_thread);
	RUN(names_of_5_4);
	RUN(locals);
	RUN(names_of_5_1);
	RUN(identities);
	return TEST_END();
}
