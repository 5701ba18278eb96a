/* SPDX-License-Identifier: MIT */
/* The step over LuaJIT's functions, and what they were fetched by. */
#include "luajit_memory.h"

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

/* A function with a variable number of arguments has two frames, and is one. */
static void variable(const struct ebp_luajit *layout)
{
	struct luajit_place place = interpreter(C_STACK);

	make(layout);
	push(0, 1, LUAJIT_LINK_C);
	push_lua(0, 2, 1, 10);
	push(0, 2, LUAJIT_LINK_VARG);
	push_lua(0, 3, 2, 20);
	put_c_frame(C_STACK, 0, 0, at(3, 30));
	place.fp = THREAD(0);
	CHECK_EQ(begin(place), 0);
	is_frame(3, 30);
	is_frame(2, 20);
	is_frame(1, 10);
	is_end();
}

TEST(variable_numbers_of_arguments)
{
	variable(&wide);
	variable(&narrow);
}

/* The interpreter was entered for C alone: what runs is of the frame before. */
static void bare(const struct ebp_luajit *layout)
{
	struct luajit_place place = interpreter(C_STACK);
	uint64_t outer = C_STACK + 0x100;

	make(layout);
	push(0, 1, LUAJIT_LINK_C);
	put_c_frame(outer, 0, 0, at(1, 3));
	put_c_frame(C_STACK, 0, outer, 0);
	put(C_STACK + o->c_results, -(top[0] - FLOOR(0)), 4);
	place.fp = THREAD(0);
	CHECK_EQ(begin(place), 0);
	is_end();
	CHECK_EQ(begin(interpreter(outer)), 0);
	is_frame(1, 3);
	is_end();
}

TEST(c_in_place_of_a_function)
{
	bare(&wide);
	bare(&narrow);
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
	put_frame(top[0], 2, at(1, 10));
	CHECK_EQ(begin(place), 0);
	CHECK(!s.bad);
	put(FUNCTION(2) + o->type, LUAJIT_PROTO, 1);
	s.cached = 0;
	CHECK_EQ(begin(place), 0);
	CHECK(s.bad);
	put(FUNCTION(2) + o->type, LUAJIT_FUNCTION, 1);
	put(proto_of(2) + o->type, LUAJIT_FUNCTION, 1);
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
	RUN(variable_numbers_of_arguments);
	RUN(c_in_place_of_a_function);
	RUN(damage_is_noticed);
	RUN(what_a_function_was_fetched_by);
	return TEST_END();
}
