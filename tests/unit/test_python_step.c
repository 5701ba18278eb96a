/* SPDX-License-Identifier: MIT */
/* The step over CPython's frames, in memory that is laid out here as 3.8, 3.11 and later do. */
#include <stdint.h>
#include <string.h>

#include "lang/lang.h"
#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x8000u

struct python_env {
	uint8_t bytes[SIZE];
	unsigned reads;
};

static int python_read(struct python_env *env, void *dst, uint32_t size, uint64_t address)
{
	env->reads++;
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#include "bpf/python_step.h"

/* Addresses. */
enum {
	BIAS = BASE,
	KEY = BASE + 0x10,
	CODE_TYPE = BASE + 0x100,
	TP = BASE + 0x200,
	THREAD = BASE + 0x1000,
	CFRAME = BASE + 0x1100,
	CFRAME2 = BASE + 0x1200,
	FRAMES = BASE + 0x2000,		/* one every 0x100 bytes */
	CODES = BASE + 0x4000,		/* the same */
	NAMES = BASE + 0x6000,
};

#define FRAME(n) (FRAMES + (n) * 0x100u)
#define CODE(n)	 (CODES + (n) * 0x100u)

#define KEYS .key = KEY - BIAS, .keys = 0x310	/* of glibc on x86-64 */

static const struct ebp_python to_3_10 = {
	KEYS, .code_type = CODE_TYPE - BIAS, .thread_id = 176, .current = 24,
	.frame_back = 24, .frame_code = 32, .frame_place = 104, .frame_bytes = 108,
	.flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128, .code_name = 112,
	.code_words = 0xfffc,
};
static const struct ebp_python of_3_11 = {
	KEYS, .code_type = CODE_TYPE - BIAS, .thread_id = 152, .current = 56,
	.cframe_current = 8, .cframe_previous = 16, .frame_code = 32, .frame_back = 48,
	.frame_place = 56, .frame_entry = 68, .entry_value = 1, .frame_bytes = 72,
	.flags = EBP_PYTHON_CFRAME | EBP_PYTHON_POINTER, .code_bytes = 144, .code_name = 128,
	.code_start = 184, .code_words = 0x3ffbc,
};
static const struct ebp_python of_3_13 = {
	KEYS, .code_type = CODE_TYPE - BIAS, .thread_id = 152, .current = 72,
	.frame_back = 8, .frame_place = 56, .frame_entry = 70, .entry_value = 3, .frame_bytes = 72,
	.flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER, .code_bytes = 144, .code_name = 128,
	.code_start = 200, .code_words = 0x3fffc,
};

static const struct ebp_python of_3_14 = {
	KEYS, .code_type = CODE_TYPE - BIAS, .thread_id = 152, .current = 72,
	.frame_back = 8, .frame_place = 56, .frame_entry = 74, .entry_value = 3, .frame_bytes = 80,
	.flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER, .code_bytes = 144, .code_name = 128,
	.code_start = 208, .code_words = 0x3fffc,
};
/* In the program's own thread-local storage, which lies below the thread pointer. */
static const struct ebp_python of_3_15 = {
	.key = (uint64_t)-0x28, .code_type = CODE_TYPE - BIAS, .thread_id = 176, .current = 72,
	.frame_back = 8, .frame_place = 56, .frame_entry = 74, .entry_value = 3, .frame_bytes = 80,
	.flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER | EBP_PYTHON_BASE | EBP_PYTHON_TLS,
	.code_bytes = 144, .code_name = 128, .code_start = 208, .code_words = 0x3fffc,
};

static struct python_env memory;
static struct python_state s;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put8(uint32_t address, uint8_t value)
{
	memory.bytes[address - BASE] = value;
}

/* A thread that runs frame 0. */
static void make(const struct ebp_python *o)
{
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	put64(KEY, 1 | 2ull << 32);
	put64(o->flags & EBP_PYTHON_TLS ? TP - 0x28 : TP + 0x310 + 2 * 16 + 8, THREAD);
	put64(THREAD + o->thread_id, TP);
	put64(THREAD + o->current, o->flags & EBP_PYTHON_CFRAME ? CFRAME : FRAME(0));
	if (o->flags & EBP_PYTHON_CFRAME) {
		put64(CFRAME + o->cframe_current, FRAME(0));
		put64(CFRAME + o->cframe_previous, CFRAME2);
	}
	for (uint32_t i = 0; i < 8; i++) {
		put64(CODE(i) + 8, CODE_TYPE);
		put64(CODE(i) + o->code_name, NAMES + i * 0x40);
		put64(NAMES + i * 0x40 + 16, 4);
		put64(NAMES + i * 0x40 + 24, 1000 + i);
	}
}

static void frame(const struct ebp_python *o, uint32_t i, uint32_t back, uint64_t place)
{
	put64(FRAME(i) + o->frame_code, CODE(i));
	put64(FRAME(i) + o->frame_back, back);
	put64(FRAME(i) + o->frame_place, place);
}

static int begin(const struct ebp_python *o)
{
	return python_begin(&memory, &s, o, BIAS, TP);
}

static int step(const struct ebp_python *o)
{
	return python_step(&memory, &s, o);
}

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

/* --- Of a thread that sleeps (lang_ops.walk). -------------------------------------- */

static unsigned taken;

static int read_memory(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	CHECK_EQ(pid, 7);
	return python_read(ctx, to, (uint32_t)size, address);
}

static uint64_t find(void *ctx, uint64_t identity)
{
	(void)ctx;
	(void)identity;
	return taken > 1 ? EBP_CODE_FIRST : 0;
}

static uint64_t take(void *ctx, uint64_t identity, struct ebp_code *record)
{
	(void)ctx;
	CHECK(identity && record->language == EBP_LANGUAGE_PYTHON);
	return EBP_CODE_FIRST + ++taken;
}

static size_t walk(const struct ebp_python *o, uint64_t *words)
{
	const struct lang_reader reader = { .read = read_memory, .ctx = &memory };
	struct ebp_layout layout = { .language = EBP_LANGUAGE_PYTHON };
	const struct lang_walk w = { .layout = &layout, .bias = BIAS, .thread_pointer = TP,
				     .pid = 7, .reader = &reader, .find = find, .take = take };

	taken = 0;
	memcpy(layout.words, o, sizeof(*o));
	return lang_python.walk(&w, words);
}

#define WORD(id, place) EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, (id), (place))

TEST(a_thread_that_sleeps)
{
	uint64_t words[EBP_WORDS_MAX];

	make(&of_3_13);
	frame(&of_3_13, 0, FRAME(1), CODE(0) + 200 + 10);
	put64(FRAME(1) + 8, FRAME(2));
	put8(FRAME(1) + 70, 3);
	frame(&of_3_13, 2, FRAME(3), CODE(2) + 200 + 4);
	frame(&of_3_13, 3, 0, CODE(3) + 200 + 6);
	CHECK_EQ(walk(&of_3_13, words), 3);
	CHECK_EQ(words[0], WORD(EBP_CODE_FIRST + 1, 5) | EBP_FRAME_ENTRY);
	CHECK_EQ(words[1], WORD(EBP_CODE_FIRST + 2, 2));
	CHECK_EQ(words[2], WORD(EBP_CODE_FIRST, 3));
	/* Not whole: it says so. */
	put64(FRAME(2) + 8, 0xdead0);
	CHECK_EQ(walk(&of_3_13, words), 3);
	CHECK_EQ(words[2], WORD(EBP_CODE_NONE, EBP_PLACE_NONE));
	/* A frame that calls itself ends somewhere, one of C, too. */
	put64(FRAME(2) + 8, FRAME(2));
	CHECK(walk(&of_3_13, words) <= EBP_WORDS_MAX);
	put64(FRAME(1) + 8, FRAME(1));
	CHECK(walk(&of_3_13, words) <= EBP_WORDS_MAX);
	put64(THREAD + of_3_13.thread_id, TP + 8);
	CHECK_EQ(walk(&of_3_13, words), 0);
}

/* What the thread's new C frame has is not its own yet. */
TEST(a_thread_that_sleeps_and_begins_again)
{
	uint64_t words[EBP_WORDS_MAX];

	make(&of_3_11);
	frame(&of_3_11, 0, FRAME(1), CODE(0) + 184);
	frame(&of_3_11, 1, 0, CODE(1) + 184);
	put64(CFRAME2 + 8, FRAME(2));
	frame(&of_3_11, 2, 0, CODE(2) + 184 + 8);
	put8(FRAME(2) + 68, 1);
	CHECK_EQ(walk(&of_3_11, words), 1);
	CHECK_EQ(words[0], WORD(EBP_CODE_FIRST, 4) | EBP_FRAME_ENTRY);
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
	RUN(a_thread_that_sleeps);
	RUN(a_thread_that_sleeps_and_begins_again);
	return TEST_END();
}
