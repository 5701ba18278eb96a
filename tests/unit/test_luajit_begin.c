/* SPDX-License-Identifier: MIT */
/* Where LuaJIT's functions begin: leaves, traces, frames in the making. */
#include "luajit_memory.h"

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
	put(THREAD(0) + o->base, caller, 8);
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

/* What does not lead to a trace that has the code is none. */
TEST(traces_are_checked)
{
	struct luajit_place place = { .pc = MCODE + 9, .sp = C_STACK, .exact = 1 };

	make(&wide);
	push(0, 1, LUAJIT_LINK_C);
	put_c_frame(C_STACK, 0, 0, 0);
	put_trace(3, 1, 15, top[0]);
	CHECK_EQ(begin(place), 0);
	put(TRACE + o->mcode + 16, 4, 2);
	CHECK(begin(place) < 0);
	put(TRACE + o->mcode + 16, 3, 2);
	put(GLOBAL + o->traces + 12, 3, 4);
	CHECK(begin(place) < 0);
	put(GLOBAL + o->traces + 12, 4, 4);
	CHECK_EQ(begin(place), 0);
	put(GLOBAL + o->jit_base, 0, 8);
	CHECK(begin(place) < 0);
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

int main(void)
{
	RUN(leaves_are_checked);
	RUN(a_place_in_rbp);
	RUN(traces_stand_for_what_they_began_in);
	RUN(traces_are_checked);
	RUN(frames_in_the_making);
	return TEST_END();
}
