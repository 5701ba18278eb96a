/* SPDX-License-Identifier: MIT */
/* The step over CPython's frames. */
#include "unit/python_fake.h"

TEST(frames_of_3_8)
{
	make(&to_3_10);
	frame(&to_3_10, 0, FRAME(1), 14);
	frame(&to_3_10, 1, 0, 0xffffffff);
	CHECK_EQ(begin(&to_3_10), 0);
	CHECK_EQ(step(&to_3_10), 0);
	CHECK_EQ(s.code, CODE(0));
	CHECK_EQ(s.place, 7);
	CHECK_EQ(s.entry, 1);
	CHECK_EQ(step(&to_3_10), 0);
	CHECK_EQ(s.code, CODE(1));
	CHECK_EQ(s.place, 0);
	CHECK(step(&to_3_10) < 0);
}

TEST(frames_of_3_13)
{
	make(&of_3_13);
	frame(&of_3_13, 0, FRAME(1), CODE(0) + 200 + 10);
	frame(&of_3_13, 1, FRAME(2), CODE(1) + 200);
	/* The C stack's own, between two calls of the interpreter. */
	put64(FRAME(2) + 8, FRAME(3));
	put8(FRAME(2) + 70, 3);
	frame(&of_3_13, 3, 0, CODE(3) + 200 + 4);
	CHECK_EQ(begin(&of_3_13), 0);
	CHECK_EQ(step(&of_3_13), 0);
	CHECK_EQ(s.place, 5);
	CHECK_EQ(s.entry, 0);
	CHECK_EQ(step(&of_3_13), 0);
	CHECK_EQ(s.code, CODE(1));
	CHECK_EQ(step(&of_3_13), 0);
	CHECK(!s.code && s.entry);
	CHECK_EQ(step(&of_3_13), 0);
	CHECK_EQ(s.code, CODE(3));
	CHECK_EQ(s.place, 2);
	CHECK(step(&of_3_13) < 0);
}

TEST(a_call_of_3_11_that_has_just_begun)
{
	make(&of_3_11);
	frame(&of_3_11, 0, FRAME(1), CODE(0) + 184);
	frame(&of_3_11, 1, 0, CODE(1) + 184);
	put8(FRAME(0) + 68, 1);
	put8(FRAME(1) + 68, 1);
	put64(CFRAME2 + 8, FRAME(1));
	CHECK_EQ(begin(&of_3_11), 0);
	CHECK_EQ(step(&of_3_11), 0);
	CHECK_EQ(s.code, CODE(0));
	CHECK_EQ(step(&of_3_11), 0);
	CHECK_EQ(s.code, CODE(1));
	CHECK(step(&of_3_11) < 0);
	/* Its own frame is not there yet: what lies there is another's, or nothing. */
	put64(CFRAME + 8, 0xdead);
	CHECK_EQ(begin(&of_3_11), 0);
	CHECK_EQ(step(&of_3_11), PYTHON_AGAIN);
	CHECK_EQ(step(&of_3_11), 0);
	CHECK_EQ(s.code, CODE(1));
	frame(&of_3_11, 2, FRAME(3), CODE(2) + 184);
	put8(FRAME(2) + 68, 1);
	put64(CFRAME + 8, FRAME(2));
	CHECK_EQ(begin(&of_3_11), 0);
	CHECK_EQ(step(&of_3_11), PYTHON_AGAIN);
	CHECK_EQ(step(&of_3_11), 0);
	CHECK_EQ(s.code, CODE(1));
	CHECK(step(&of_3_11) < 0);
}

/* The lowest bits of a frame's code are a tag; what has no code may be no call, too. */
TEST(frames_of_3_14)
{
	make(&of_3_14);
	frame(&of_3_14, 0, FRAME(1), CODE(0) + 208 + 10);
	put64(FRAME(0), CODE(0) | 1);
	put64(FRAME(1), 1);
	put64(FRAME(1) + 8, FRAME(2));
	put8(FRAME(1) + 74, 4);
	frame(&of_3_14, 2, FRAME(3), CODE(2) + 208);
	put64(FRAME(3), NAMES | 1);
	put8(FRAME(3) + 74, 3);
	CHECK_EQ(begin(&of_3_14), 0);
	CHECK_EQ(step(&of_3_14), 0);
	CHECK_EQ(s.code, CODE(0));
	CHECK_EQ(s.place, 5);
	CHECK_EQ(step(&of_3_14), 0);
	CHECK(!s.code && !s.entry);
	CHECK_EQ(step(&of_3_14), 0);
	CHECK_EQ(s.code, CODE(2));
	/* The first call's. */
	CHECK_EQ(step(&of_3_14), 0);
	CHECK(!s.code && s.entry);
	CHECK(step(&of_3_14) < 0);
}

/* The last frame is the thread's. */
TEST(frames_of_3_15)
{
	make(&of_3_15);
	frame(&of_3_15, 0, FRAME(1), CODE(0) + 208);
	put64(FRAME(1) + 8, FRAME(2));
	put8(FRAME(1) + 74, 3);
	put8(FRAME(2) + 74, 3);
	CHECK_EQ(begin(&of_3_15), 0);
	CHECK_EQ(step(&of_3_15), 0);
	CHECK_EQ(s.code, CODE(0));
	CHECK_EQ(step(&of_3_15), 0);
	CHECK(!s.code && s.entry);
	CHECK_EQ(step(&of_3_15), 0);
	CHECK(!s.code && !s.entry);
	CHECK(step(&of_3_15) < 0);
	/* Another thread's, as where this one is not there yet. */
	put64(TP - 0x28, 0);
	CHECK(begin(&of_3_15) < 0);
}

/* aarch64: struct pthread lies below the thread pointer, and its size goes by glibc's version. */
TEST(a_thread_of_aarch64)
{
	static const uint16_t sizes[] = { 0x6f0, 0x700, 0x720, 0x740, 0x760 };
	struct ebp_python o = of_3_14;

	o.self = 0x6f0;
	o.selves = EBP_PYTHON_SELVES - 1;
	o.keys = 0x110;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		uint64_t tp = TP + 0x800, self = tp - sizes[i];

		make(&o);
		put64(TP + 0x310 + 2 * 16 + 8, 0);
		put64((uint32_t)self + 0x110 + 2 * 16 + 8, THREAD);
		put64(THREAD + 152, self);
		frame(&o, 0, 0, CODE(0) + 208);
		CHECK_EQ(python_begin(&memory, &s, &o, BIAS, tp),
			 sizes[i] < 0x6f0 + EBP_PYTHON_SELVES * 16 ? 0 : -1);
		CHECK_EQ(s.frame, FRAME(0));
		/* That of another thread, or what is none, is not taken. */
		put64(THREAD + 152, self + 16);
		CHECK(python_begin(&memory, &s, &o, BIAS, tp) < 0);
		put64(THREAD + 152, tp);
		CHECK(python_begin(&memory, &s, &o, BIAS, tp) < 0);
		put64((uint32_t)self + 0x110 + 2 * 16 + 8, 16);
		CHECK(python_begin(&memory, &s, &o, BIAS, tp) < 0);
	}
}

/* musl: an array that the thread points to. */
TEST(a_thread_of_musl)
{
	enum { SELF = BASE + 0x200, ARRAY = BASE + 0x600 };

	for (uint32_t arm64 = 0; arm64 < 2; arm64++) {
		struct ebp_python o = of_3_14;
		uint64_t tp = SELF + (arm64 ? 200 : 0);

		o.flags |= EBP_PYTHON_MUSL;
		o.self = arm64 ? 200 : 0;
		o.keys = arm64 ? 112 : 128;
		make(&o);
		put64(KEY, 1 | 100ull << 32);
		put64(SELF + o.keys, ARRAY);
		put64(ARRAY + 100 * 8, THREAD);
		put64(THREAD + 152, SELF);
		frame(&o, 0, 0, CODE(0) + 208);
		CHECK_EQ(python_begin(&memory, &s, &o, BIAS, tp), 0);
		CHECK_EQ(s.frame, FRAME(0));
		put64(KEY, 1 | 128ull << 32);
		CHECK(python_begin(&memory, &s, &o, BIAS, tp) < 0);
		put64(KEY, 1 | 100ull << 32);
		put64(SELF + o.keys, 16);
		CHECK(python_begin(&memory, &s, &o, BIAS, tp) < 0);
	}
}

/* A library's variable: its module and offset there, the thread's vector of blocks. */
TEST(a_state_in_a_librarys_storage)
{
	enum { INDEX = BASE + 0x300, VECTOR = BASE + 0x400, BLOCK = BASE + 0x500 };
	struct ebp_python o = of_3_15;

	o.flags ^= EBP_PYTHON_TLS | EBP_PYTHON_MODULE;
	o.key = INDEX - BIAS;
	o.slot = 0x28;
	make(&o);
	put64(TP + 0x310 + 2 * 16 + 8, 0);
	put64(INDEX, 3);
	put64(INDEX + 8, 0x10);
	put64(TP + 8, VECTOR);
	put64(VECTOR + 3 * 16, BLOCK);
	put64(BLOCK + 0x38, THREAD);
	frame(&o, 0, 0, CODE(0) + 208);
	CHECK_EQ(begin(&o), 0);
	CHECK_EQ(step(&o), 0);
	CHECK_EQ(s.code, CODE(0));
	put64(INDEX, 4096);
	CHECK(begin(&o) < 0);
	/* A block that is not there yet. */
	put64(INDEX, 3);
	put64(VECTOR + 3 * 16, (uint64_t)-1);
	CHECK(begin(&o) < 0);
}

TEST(a_thread_that_is_not_pythons)
{
	make(&to_3_10);
	put64(THREAD + 176, TP + 8);
	CHECK(begin(&to_3_10) < 0);
	make(&to_3_10);
	put64(KEY, 2ull << 32);
	CHECK(begin(&to_3_10) < 0);
	make(&to_3_10);
	put64(KEY, 1 | 32ull << 32);
	CHECK(begin(&to_3_10) < 0);
	make(&to_3_10);
	put64(TP + 0x310 + 2 * 16 + 8, 0);
	CHECK(begin(&to_3_10) < 0);
}

TEST(what_is_no_code_ends_it)
{
	make(&to_3_10);
	frame(&to_3_10, 0, FRAME(1), 0);
	put64(CODE(0) + 8, CODE_TYPE + 8);
	CHECK_EQ(begin(&to_3_10), 0);
	CHECK(step(&to_3_10) < 0);
	CHECK_EQ(s.code, 0);
}

static uint64_t identity(void)
{
	CHECK_EQ(begin(&of_3_13), 0);
	CHECK_EQ(step(&of_3_13), 0);
	return s.identity;
}

TEST(another_code_at_the_same_address_has_another_identity)
{
	uint64_t first;

	make(&of_3_13);
	frame(&of_3_13, 0, 0, CODE(0) + 200);
	first = identity();
	CHECK_EQ(identity(), first);
	/* References and caches change with nothing. */
	put64(CODE(0), 77);
	put64(CODE(0) + 144, 78);
	CHECK_EQ(identity(), first);
	put64(NAMES + 24, 2000);
	CHECK(identity() != first);
	put64(NAMES + 24, 1000);
	put64(CODE(0) + 136, 5);
	CHECK(identity() != first);
}

int main(void)
{
	RUN(frames_of_3_8);
	RUN(frames_of_3_13);
	RUN(a_call_of_3_11_that_has_just_begun);
	RUN(frames_of_3_14);
	RUN(frames_of_3_15);
	RUN(a_thread_of_aarch64);
	RUN(a_thread_of_musl);
	RUN(a_state_in_a_librarys_storage);
	RUN(a_thread_that_is_not_pythons);
	RUN(what_is_no_code_ends_it);
	RUN(another_code_at_the_same_address_has_another_identity);
	return TEST_END();
}
