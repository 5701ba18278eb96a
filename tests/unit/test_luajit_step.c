/* SPDX-License-Identifier: MIT */
/*
 * The step over LuaJIT's functions, in memory that is laid out here as it does, with references of
 * 8 bytes and of 4.
 */
#include <stdint.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x8000u

struct luajit_env {
	uint8_t bytes[SIZE];
};

static int luajit_read(struct luajit_env *env, void *dst, uint32_t size, uint64_t address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#include "bpf/luajit_begin.h"
#include "bpf/luajit_describe.h"

static int luajit_look_round(struct luajit_env *env, struct luajit_state *s,
			     const struct ebp_luajit *o, __u32 i)
{
	return luajit_look_at(env, s, o, i);
}

static int luajit_search_round(struct luajit_env *env, struct luajit_state *s,
			       const struct ebp_luajit *o, __u32 i)
{
	return luajit_search(env, s, o, i);
}

static int luajit_holds_round(struct luajit_env *env, struct luajit_state *s,
			      const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	return luajit_holds(env, s, o, base, pc);
}

/* Addresses. */
enum {
	C_STACK = BASE + 0x100,		/* grows downward from its end */
	C_END = BASE + 0x1000,
	THREADS = BASE + 0x1000,	/* one every 0x400 bytes: state, its stack */
	STACK = 0x100,
	GLOBAL = BASE + 0x2000,
	TRACES = BASE + 0x2800,
	TRACE = BASE + 0x2900,
	FUNCTIONS = BASE + 0x3000,	/* one every 0x200 bytes: function, GCproto, code */
	PROTO = 0x40,
	STRINGS = BASE + 0x6000,
	CONSTANTS = BASE + 0x6800,
	CODE = BASE + 0x7000,		/* of the interpreter */
	MCODE = BASE + 0x7800,
	MCODE_BYTES = 0x100,
};

#define THREAD(n) (THREADS + (n) * 0x400u)
#define FLOOR(n)  (THREAD(n) + STACK)
#define FUNCTION(n) (FUNCTIONS + (n) * 0x200u)

static const struct ebp_luajit wide = {
	.wide = 1, .vmstate = 200, .jit_base = 560, .traces = 1000, .c_bytes = 80, .c_thread = 16,
	.c_pc = 24, .c_results = 8, .c_previous = 32, .type = 9, .global = 16, .base = 32,
	.stack = 56, .stack_end = 48, .c_frame = 80, .code = 32, .c_function = 40,
	.proto_bytes = 104, .ncode = 12, .constants = 32, .source = 64, .first_line = 72,
	.lines = 80, .all_bytes = 56, .mcode = 88, .text = 24,
};
static const struct ebp_luajit narrow = {
	.vmstate = 200, .jit_base = 560, .traces = 1000, .c_bytes = 80, .c_thread = 24,
	.c_pc = 28, .c_results = 16, .c_previous = 32, .type = 5, .global = 8, .base = 16,
	.stack = 36, .stack_end = 32, .c_frame = 48, .code = 16, .c_function = 24,
	.proto_bytes = 64, .ncode = 8, .constants = 16, .source = 40, .first_line = 44,
	.lines = 52, .all_bytes = 32, .mcode = 64, .text = 20,
};

static struct luajit_env memory;
static struct luajit_state s;
static const struct ebp_luajit *o;
static uint64_t top[2];		/* of each thread's stack: the next free place */

static void put(uint64_t address, uint64_t value, size_t size)
{
	memcpy(memory.bytes + (address - BASE), &value, size);
}

static void put_ref(uint64_t address, uint64_t value)
{
	put(address, value, o->wide ? 8 : 4);
}

static uint64_t proto_of(uint32_t n)
{
	return FUNCTION(n) + PROTO;
}

/* The address behind instruction @i of function @n. */
static uint64_t at(uint32_t n, uint32_t i)
{
	return proto_of(n) + o->proto_bytes + 4 * (i + 1);
}

/* A call whose register is @a. */
static uint32_t call_of(uint32_t a)
{
	return 66 | a << 8;
}

/* Function @n, of 40 instructions, all of them calls; from line @n on. @kind: 0 is Lua's. */
static void put_function(uint32_t n, uint8_t kind)
{
	put(FUNCTION(n) + o->type, LUAJIT_FUNCTION, 1);
	put(FUNCTION(n) + o->type + 1, kind, 1);
	put_ref(FUNCTION(n) + o->code, proto_of(n) + o->proto_bytes);
	put(FUNCTION(n) + o->c_function, CODE + 0x100 + n, 8);
	put(proto_of(n) + o->type, LUAJIT_PROTO, 1);
	put(proto_of(n) + o->ncode, 40, 4);
	put(proto_of(n) + o->first_line, n, 4);
	put_ref(proto_of(n) + o->source, STRINGS);
	put_ref(proto_of(n) + o->constants, CONSTANTS + 0x100);
	for (uint32_t i = 0; i < 40; i++)
		put(proto_of(n) + o->proto_bytes + 4 * i, call_of(4), 4);
}

static void put_thread(uint32_t t)
{
	put(THREAD(t) + o->type, LUAJIT_THREAD, 1);
	put_ref(THREAD(t) + o->global, GLOBAL);
	put_ref(THREAD(t) + o->stack, FLOOR(t));
	put_ref(THREAD(t) + o->stack_end, FLOOR(t) + 0x280);
	top[t] = FLOOR(t) + 8 * (1 + o->wide);
}

/* A frame of function @n at @base of thread @t. */
static void put_frame(uint64_t base, uint32_t n, uint64_t link)
{
	if (o->wide) {
		put(base - 16, FUNCTION(n) | 0xfffbull << 47, 8);
		put(base - 8, link, 8);
	} else {
		put(base - 8, FUNCTION(n), 4);
		put(base - 4, link, 4);
	}
}

/* The next frame of thread @t, 5 values above the last one, of which function @from called. */
static void push_lua(uint32_t t, uint32_t n, uint32_t from, uint32_t pc)
{
	top[t] += 8 * (1 + o->wide + 4);
	put_frame(top[t], n, at(from, pc));
	put(THREAD(t) + o->base, top[t], 8);
}

/* The same with another kind of link. */
static void push(uint32_t t, uint32_t n, uint64_t kind)
{
	top[t] += 64;
	put_frame(top[t], n, 64 | kind);
	put(THREAD(t) + o->base, top[t], 8);
}

/* A frame of the interpreter's at @c, of thread @t, for which @before is the one before. */
static void put_c_frame(uint64_t c, uint32_t t, uint64_t before, uint64_t pc)
{
	put_ref(c + o->c_thread, THREAD(t));
	put_ref(c + o->c_pc, pc);
	put(c + o->c_previous, before, 8);
	put(c + 72, 0x4000 + c, 8);
	put(c + 64, 0x5000 + c, 8);
	put(THREAD(t) + o->c_frame, c | 1, 8);
}

static void make(const struct ebp_luajit *layout)
{
	o = layout;
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	for (uint32_t i = 1; i < 6; i++)
		put_function(i, 0);
	put_function(6, 1);
	put_function(7, 20);
	put_thread(0);
	put_thread(1);
}

/* Where the leaf is: 0, or negative. */
static int begin(struct luajit_place place)
{
	s.at = place;
	luajit_find(&memory, &s, o);
	if (luajit_begin(&memory, &s, o))
		return -1;
	if (s.is_leaf)
		luajit_begin_leaf(&memory, &s, o);
	return 0;
}

static void is_frame(uint32_t n, uint32_t pc)
{
	do
		luajit_step(&memory, &s, o);
	while (!s.code && !luajit_is_over(&s));
	CHECK(!s.bad);
	CHECK_EQ(s.code, n == 6	 ? CODE + 0x100 + n
			 : n == 7 ? proto_of(n) + o->proto_bytes
				  : proto_of(n) + o->proto_bytes);
	CHECK_EQ(s.frame.pc, n > 5 ? EBP_PLACE_NONE : pc);
}

static void is_end(void)
{
	while (!luajit_is_over(&s)) {
		luajit_step(&memory, &s, o);
		CHECK_EQ(s.code, 0);
	}
	CHECK(!s.bad);
}

/* There are more, which are not looked at. */
static void stop(void)
{
	CHECK(!s.bad);
}

static struct luajit_place interpreter(uint64_t sp)
{
	return (struct luajit_place){ .pc = CODE, .sp = sp, .is_interpreter = 1 };
}

/* C, which calls 1, which calls 2 by pcall(), which has called C. */
static void put_calls(uint64_t c)
{
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 7, 1, 10);
	push(0, 2, 6);
	push_lua(0, 6, 2, 20);
	put_c_frame(c, 0, 0, at(1, 3));
}

static void calls(const struct ebp_luajit *layout)
{
	struct luajit_place place = interpreter(C_END - 0x100);

	make(layout);
	put_calls(place.sp);
	place.fp = THREAD(0);
	CHECK_EQ(begin(place), 0);
	CHECK_EQ(s.return_to, 0x4000 + place.sp);
	CHECK_EQ(s.caller_fp, 0x5000 + place.sp);
	is_frame(6, 0);
	CHECK_EQ(s.caller.pc, 20);
	is_frame(2, 20);
	is_frame(7, 0);
	is_frame(1, 10);
	is_end();
}

TEST(calls_of_the_interpreter)
{
	calls(&wide);
	calls(&narrow);
}

/* The same, from C that was called further in. */
static void runs(const struct ebp_luajit *layout)
{
	struct luajit_place place = interpreter(C_STACK);
	uint64_t outer = C_STACK + 0x400;

	make(layout);
	put_calls(outer);
	push(0, 3, LUAJIT_LINK_C);
	push_lua(0, 4, 3, 7);
	put_c_frame(C_STACK, 0, outer, at(4, 5));
	place.fp = THREAD(0);
	CHECK_EQ(begin(place), 0);
	is_frame(4, 5);
	is_frame(3, 7);
	is_end();
	CHECK_EQ(begin(interpreter(outer)), 0);
	is_frame(6, 0);
	is_frame(2, 20);
	is_frame(7, 0);
	is_frame(1, 10);
	is_end();
}

TEST(a_thread_has_several_frames)
{
	runs(&wide);
	runs(&narrow);
}

/* A coroutine, and who has resumed it. */
static void coroutines(const struct ebp_luajit *layout)
{
	uint64_t outer = C_STACK + 80;

	make(layout);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 7, 1, 10);
	put_c_frame(outer, 0, 0, 0);
	push(1, 2, LUAJIT_LINK_C | 4);
	put_c_frame(C_STACK, 1, 0, at(2, 9));
	s.at.fp = THREAD(1);
	CHECK_EQ(begin((struct luajit_place){
			 .pc = CODE, .sp = C_STACK, .fp = THREAD(1), .is_interpreter = 1 }), 0);
	is_frame(2, 9);
	is_end();
	CHECK_EQ(begin(interpreter(outer)), 0);
	is_frame(7, 0);
	is_frame(1, 10);
	is_end();
}

TEST(coroutines_have_frames_of_their_own)
{
	coroutines(&wide);
	coroutines(&narrow);
}

/* Of a leaf: what it has in registers counts, where its place and its instruction agree. */
static void leaves(const struct ebp_luajit *layout)
{
	struct luajit_place place = interpreter(C_STACK);
	uint64_t caller;

	make(layout);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 2, 1, 10);
	caller = top[0];
	push_lua(0, 3, 2, 20);
	put_c_frame(C_STACK, 0, 0, 0);
	place.exact = 1;
	place.rdx = top[0];
	place.rbx = at(3, 30);
	CHECK_EQ(begin(place), 0);
	is_frame(3, 30);
	is_frame(2, 20);
	is_frame(1, 10);
	is_end();
	/* It is about to begin. */
	place.rbx = at(3, 0) - 4;
	CHECK_EQ(begin(place), 0);
	is_frame(3, EBP_PLACE_NONE);
	stop();
	/* Its frame is not written yet, or is gone: the caller is seen. */
	put_frame(top[0], 4, 0x123458);
	place.rbx = at(2, 20);
	CHECK_EQ(begin(place), 0);
	is_frame(2, 20);
	stop();
	/* Neither; the last one that was noted has the instruction. */
	put(THREAD(0) + o->base, caller, 8);
	place.rdx = 0x777;
	CHECK_EQ(begin(place), 0);
	is_frame(2, 20);
	stop();
	/* C is called, or has been. */
	place.rbx = 5;
	CHECK_EQ(begin(place), 0);
	is_end();
	place.rbx = caller;
	CHECK_EQ(begin(place), 0);
	is_end();
	CHECK_EQ(s.base, caller);
	/* Nothing is so. */
	place.rbx = 0x4000;
	CHECK_EQ(begin(place), 0);
	CHECK(s.bad);
}

TEST(leaves_are_checked)
{
	leaves(&wide);
	leaves(&narrow);
}

/* C that the interpreter has called may have its place in rbp. */
TEST(a_place_in_rbp)
{
	struct luajit_place place = interpreter(C_STACK);

	make(&wide);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 2, 1, 10);
	place.fp = top[0];
	put_c_frame(C_STACK, 0, 0, at(1, 1));
	put(THREAD(0) + o->base, FLOOR(0) + 24, 8);
	CHECK_EQ(begin(place), 0);
	is_frame(2, EBP_PLACE_NONE);
	is_frame(1, 10);
	is_end();
}

static void put_trace(uint32_t number, uint32_t function, uint32_t pc, uint64_t base)
{
	put(GLOBAL + o->vmstate, number, 4);
	put_ref(GLOBAL + o->jit_base, base);
	put(GLOBAL + o->traces, TRACES, 8);
	put(GLOBAL + o->traces + 12, 10, 4);
	put_ref(TRACES + number * (o->wide ? 8 : 4), TRACE);
	put_ref(TRACE + o->mcode - (o->wide ? 24 : 16), proto_of(function));
	put_ref(TRACE + o->mcode - (o->wide ? 16 : 12), at(function, pc) - 4);
	put(TRACE + o->mcode - 4, MCODE_BYTES, 4);
	put(TRACE + o->mcode, MCODE, 8);
	put(TRACE + o->mcode + 16, number, 2);
}

static void traces(const struct ebp_luajit *layout)
{
	struct luajit_place place = { .pc = MCODE + 9, .sp = C_STACK, .exact = 1 };

	make(layout);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 2, 1, 10);
	put_c_frame(C_STACK + 0x60, 0, 0, 0);
	put_trace(3, 2, 15, top[0]);
	CHECK_EQ(begin(place), 0);
	CHECK_EQ(s.c_frame, C_STACK + 0x60);
	is_frame(2, 15);
	CHECK(s.frame.is_trace);
	is_frame(1, 10);
	CHECK(!s.frame.is_trace);
	is_end();
	/* It began in a function that was inlined. */
	put_trace(3, 4, 25, top[0]);
	CHECK_EQ(begin(place), 0);
	is_frame(4, 25);
	CHECK(s.frame.is_trace);
	is_frame(2, EBP_PLACE_NONE);
	is_frame(1, 10);
	is_end();
	/* Other code that was made is none of it, whatever lies on the stack. */
	place.pc = MCODE + MCODE_BYTES;
	CHECK(begin(place) < 0);
	place.row = MCODE;
	place.row_end = MCODE + 0x1000;
	CHECK_EQ(begin(place), 0);
	place.exact = 0;
	place.pc += 9;
	CHECK(begin(place) < 0);
	/* It collects garbage. */
	put(GLOBAL + o->vmstate, LUAJIT_COLLECTS, 4);
	CHECK_EQ(begin(place), 0);
	is_frame(2, EBP_PLACE_NONE);
	stop();
}

TEST(traces_stand_for_what_they_began_in)
{
	traces(&wide);
	traces(&narrow);
}

static void put_text(uint64_t address, const char *bytes, size_t n)
{
	memcpy(memory.bytes + (address - BASE), bytes, n);
}

static uint64_t left(uint64_t pc, uint64_t sp)
{
	struct luajit_place place = { .pc = pc, .sp = sp, .fp = 0x1111, .exact = 1,
				      .is_interpreter = pc < MCODE, .r15 = 1 };

	CHECK_EQ(begin(place), 0);
	luajit_step(&memory, &s, o);
	CHECK(!s.code && luajit_is_over(&s));
	return s.c_frame + o->c_bytes - sp;
}

/* What enters the interpreter, and leaves it. */
TEST(frames_in_the_making)
{
	static const int enters[] = { 0, 1, 2, 4, 6 }, leaves_at[] = { 4, 6, 8, 9, 10 };

	make(&wide);
	put_text(CODE, "\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28", 10);
	put_text(CODE + 0x40, "\x48\x83\xc4\x28\x41\x5e\x41\x5f\x5b\x5d\xc3", 11);
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(left(CODE + (uint64_t)enters[i], C_STACK), 8 * (i + 1));
		CHECK_EQ(left(CODE + 0x40 + (uint64_t)leaves_at[i], C_STACK), 8 * (5 - i));
	}
	/* A function of C's, without a frame. */
	CHECK_EQ(left(CODE + 0x80, C_STACK), 8);
	put(C_STACK + 16, THREAD(0), 8);
	CHECK_EQ(left(CODE + 0x80, C_STACK), 80);
	/* Calls back. */
	put_text(MCODE, "\xb0\x05\xeb\x10\xb0\x06\x55\xb4\0\x48\xbd\0\0\0\0\0\0\0\0\xff\x25", 21);
	CHECK_EQ(left(MCODE, C_STACK), 8);
	CHECK_EQ(left(MCODE + 2, C_STACK), 8);
	CHECK_EQ(left(MCODE + 4, C_STACK), 8);
	CHECK_EQ(left(MCODE + 7, C_STACK), 16);
	CHECK_EQ(left(MCODE + 9, C_STACK), 16);
	CHECK_EQ(left(MCODE + 19, C_STACK), 16);
}

/* A link that leads nowhere ends it, and it is said. */
TEST(damage_is_noticed)
{
	struct luajit_place place = interpreter(C_STACK);

	make(&wide);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 2, 1, 10);
	put_c_frame(C_STACK, 0, 0, 0);
	place.fp = THREAD(0);
	put_frame(top[0], 2, LUAJIT_LINK_CONT);
	CHECK_EQ(begin(place), 0);
	CHECK(s.bad);
	put_frame(top[0], 2, 0x7fff0000);
	CHECK_EQ(begin(place), 0);
	CHECK(s.bad);
	put(FUNCTION(2) + o->type, LUAJIT_PROTO, 1);
	CHECK_EQ(begin(place), 0);
	CHECK(s.bad);
	put(THREAD(0) + o->type, 0, 1);
	CHECK_EQ(begin(place), 0);
	CHECK_EQ(s.over, 1);
	place.is_interpreter = 0;
	CHECK(begin(place) < 0);
}

/* The instructions before a call lead to the string by which its function was fetched. */
TEST(what_a_function_was_fetched_by)
{
	static const uint32_t code[] = {
		96, 54 | 4 << 8 | 2 << 16 /* GGET 4 "2" */, 57 | 5 << 8 | 3 << 16 /* TGETS 5 "3" */,
		18 | 6 << 8 | 5 << 16 /* MOV 6 5 */, 41 | 1 << 8 /* KSHORT */,
		66 | 6 << 8 /* CALL 6 */, 66 | 4 << 8,
	};
	struct luajit_naming n;

	make(&wide);
	put_text(proto_of(1) + o->proto_bytes, (const char *)code, sizeof(code));
	put(CONSTANTS + 0x100 - 3 * 8, STRINGS + 0x40, 8);
	put(CONSTANTS + 0x100 - 4 * 8, STRINGS + 0x80, 8);
	s.caller = (struct luajit_call){ .proto = proto_of(1), .pc = 5,
					 .code = proto_of(1) + o->proto_bytes };
	for (uint32_t call = 5; call < 7; call++) {
		s.caller.pc = call;
		CHECK_EQ(luajit_before(&memory, &s, &n), call + 1);
		for (uint32_t i = 1; i < EBP_LUAJIT_BEFORE; i++)
			if (luajit_setter(&memory, &s, o, &n, i))
				break;
		/* The first call has set register 6, but not those below. */
		CHECK_EQ(n.name, call == 5 ? STRINGS + 0x80 : STRINGS + 0x40);
	}
	s.frame.is_apart = 1;
	CHECK_EQ(luajit_before(&memory, &s, &n), 0);
}

int main(void)
{
	RUN(calls_of_the_interpreter);
	RUN(a_thread_has_several_frames);
	RUN(coroutines_have_frames_of_their_own);
	RUN(leaves_are_checked);
	RUN(a_place_in_rbp);
	RUN(traces_stand_for_what_they_began_in);
	RUN(frames_in_the_making);
	RUN(damage_is_noticed);
	RUN(what_a_function_was_fetched_by);
	return TEST_END();
}
