/* SPDX-License-Identifier: MIT */
/*
 * Memory of a process, laid out as LuaJIT does, with references of 8 bytes and of 4, and the step
 * over its functions there.
 */
#ifndef EBPROF_UNIT_LUAJIT_MEMORY_H
#define EBPROF_UNIT_LUAJIT_MEMORY_H

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

#include "unit/luajit_rounds.h"

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

static inline void put(uint64_t address, uint64_t value, size_t size)
{
	memcpy(memory.bytes + (address - BASE), &value, size);
}

static inline void put_ref(uint64_t address, uint64_t value)
{
	put(address, value, o->wide ? 8 : 4);
}

static inline uint64_t proto_of(uint32_t n)
{
	return FUNCTION(n) + PROTO;
}

/* The address behind instruction @i of function @n. */
static inline uint64_t at(uint32_t n, uint32_t i)
{
	return proto_of(n) + o->proto_bytes + 4 * (i + 1);
}

/* A call whose register is @a. */
static inline uint32_t call_of(uint32_t a)
{
	return 66 | a << 8;
}

/* Function @n, of 40 instructions, all of them calls; from line @n on. @kind: 0 is Lua's. */
static inline void put_function(uint32_t n, uint8_t kind)
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

static inline void put_thread(uint32_t t)
{
	put(THREAD(t) + o->type, LUAJIT_THREAD, 1);
	put_ref(THREAD(t) + o->global, GLOBAL);
	put_ref(THREAD(t) + o->stack, FLOOR(t));
	put_ref(THREAD(t) + o->stack_end, FLOOR(t) + 0x280);
	top[t] = FLOOR(t) + 8 * (1 + o->wide);
}

/* A frame of function @n at @base of thread @t. */
static inline void put_frame(uint64_t base, uint32_t n, uint64_t link)
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
static inline void push_lua(uint32_t t, uint32_t n, uint32_t from, uint32_t pc)
{
	top[t] += 8 * (1 + o->wide + 4);
	put_frame(top[t], n, at(from, pc));
	put(THREAD(t) + o->base, top[t], 8);
}

/* The same with another kind of link. */
static inline void push(uint32_t t, uint32_t n, uint64_t kind)
{
	top[t] += 64;
	put_frame(top[t], n, 64 | kind);
	put(THREAD(t) + o->base, top[t], 8);
}

/* A frame of the interpreter's at @c, of thread @t, for which @before is the one before. */
static inline void put_c_frame(uint64_t c, uint32_t t, uint64_t before, uint64_t pc)
{
	put_ref(c + o->c_thread, THREAD(t));
	put_ref(c + o->c_pc, pc);
	put(c + o->c_previous, before, 8);
	put(c + 72, 0x4000 + c, 8);
	put(c + 64, 0x5000 + c, 8);
	put(THREAD(t) + o->c_frame, c | 1, 8);
}

static inline void make(const struct ebp_luajit *layout)
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
static inline int begin(struct luajit_place place)
{
	s.at = place;
	luajit_find(&memory, &s, o);
	if (luajit_begin(&memory, &s, o))
		return -1;
	luajit_first(&memory, &s, o);
	return 0;
}

static inline void is_frame(uint32_t n, uint32_t pc)
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

static inline void is_end(void)
{
	while (!luajit_is_over(&s)) {
		luajit_step(&memory, &s, o);
		CHECK_EQ(s.code, 0);
	}
	CHECK(!s.bad);
}

/* There are more, which are not looked at. */
static inline void stop(void)
{
	CHECK(!s.bad);
}

static inline struct luajit_place interpreter(uint64_t sp)
{
	return (struct luajit_place){ .pc = CODE, .sp = sp, .is_interpreter = 1 };
}

static inline void put_text(uint64_t address, const char *bytes, size_t n)
{
	memcpy(memory.bytes + (address - BASE), bytes, n);
}

#endif
