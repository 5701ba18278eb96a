/* SPDX-License-Identifier: MIT */
/* CPython's frames of tasks that await one another, and of threads that sleep. */
#include "lang/lang.h"
#include "unit/python_fake.h"

/* --- asyncio. -------------------------------------------------------------------------- */

/* Addresses: tasks, coroutines with their frames, stacks of these. */
#define TASK(n)		(BASE + 0x1400u + (n) * 0x80u)
#define COROUTINE(n)	(BASE + 0x7000u + (n) * 0x100u)
#define STACK(n)	(BASE + 0x6800u + (n) * 0x10u)
#define TASK_TYPE	(BASE + 0x180u)
#define COROUTINE_TYPE	(BASE + 0x190u)

static const struct ebp_python of_asyncio = {
	KEYS, .code_type = CODE_TYPE - BIAS, .thread_id = 152, .current = 72,
	.frame_back = 8, .frame_place = 56, .frame_entry = 74, .entry_value = 3, .frame_bytes = 80,
	.flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER, .code_bytes = 144, .code_name = 128,
	.code_start = 208, .code_words = 0x3fffc, .running_task = 96, .task_coroutine = 40,
	.task_awaiter = 48, .task_awaiters = 60, .coroutine_frame = 72, .frame_stack = 64,
	.coroutine_state = 67, .awaits = 255,
	.coroutine_type = COROUTINE_TYPE - BIAS, .generator_type = COROUTINE_TYPE - BIAS,
};

/* Coroutine @i of code @i, which awaits @inner; 0: something else. */
static void coroutine(uint32_t i, uint32_t inner)
{
	put64(COROUTINE(i) + 8, COROUTINE_TYPE);
	put64(COROUTINE(i) + 72, CODE(i));
	put64(COROUTINE(i) + 72 + 56, CODE(i) + 208 + 2ull * i);
	put64(COROUTINE(i) + 72 + 64, STACK(i) + 8);
	put8(COROUTINE(i) + 67, 255);
	put64(STACK(i), inner ? inner | 1 : TASK(0));
}

/* Task @i, which runs coroutine @coroutine and is awaited by @awaiter. */
static void task(uint32_t i, uint32_t coroutine, uint32_t awaiter)
{
	put64(TASK(i) + 8, TASK_TYPE);
	put64(TASK(i) + 40, COROUTINE(coroutine));
	put64(TASK(i) + 48, awaiter);
	put8(TASK(i) + 60, 0);
}

/* Frame 0 is called by the running task's coroutine, that by C, and that by frame 1. */
static void make_tasks(void)
{
	make(&of_asyncio);
	frame(&of_asyncio, 0, COROUTINE(2) + 72, CODE(0) + 208);
	coroutine(2, 0);
	put64(COROUTINE(2) + 72 + 8, FRAME(7));
	put64(FRAME(7) + 8, FRAME(1));
	put8(FRAME(7) + 74, 3);
	frame(&of_asyncio, 1, 0, CODE(1) + 208);
	put64(THREAD + 96, TASK(0));
	task(0, 2, TASK(1));
	task(1, 3, TASK(2));
	coroutine(3, COROUTINE(4));
	coroutine(4, 0);
	task(2, 5, 0);
	coroutine(5, 0);
}

static size_t codes(uint32_t *out)
{
	size_t n = 0;

	CHECK_EQ(begin(&of_asyncio), 0);
	while (n < 64 && step(&of_asyncio) >= 0) {
		out[n++] = s.code ? (uint32_t)(s.code - CODES) / 0x100 : 99;
		if (s.await.on)
			s.frame = python_await_next(&memory, &s.await, &of_asyncio, s.bias);
	}
	return n;
}

static void check_codes(const uint32_t *expected, size_t n)
{
	uint32_t got[64];

	CHECK_EQ(codes(got), n);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(got[i], expected[i]);
}

#define CHECK_CODES(...) \
	check_codes((const uint32_t[]){ __VA_ARGS__ }, \
		    sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

TEST(tasks_that_await_the_running_one)
{
	make_tasks();
	CHECK_CODES(0, 2, 4, 3, 5, 99, 1);
	/* It does not wait for what is on its stack. */
	put8(COROUTINE(3) + 67, 254);
	CHECK_CODES(0, 2, 3, 5, 99, 1);
	put8(COROUTINE(3) + 67, 255);
	/* Several of them, another type of object, no coroutine, none that can be read. */
	put8(TASK(1) + 60, 1);
	CHECK_CODES(0, 2, 4, 3, 99, 1);
	put8(TASK(1) + 60, 0);
	put64(TASK(2) + 8, COROUTINE_TYPE);
	CHECK_CODES(0, 2, 4, 3, 99, 1);
	put64(TASK(2) + 8, TASK_TYPE);
	put64(COROUTINE(5) + 8, TASK_TYPE);
	CHECK_CODES(0, 2, 4, 3, 99, 1);
	put64(TASK(1) + 48, 0xdead0);
	CHECK_CODES(0, 2, 4, 3, 99, 1);
	put64(TASK(0) + 48, 0);
	CHECK_CODES(0, 2, 99, 1);
	/* The task that runs is none of this frame's. */
	put64(TASK(0) + 40, COROUTINE(6));
	CHECK_CODES(0, 2, 99, 1);
	put64(THREAD + 96, 0);
	CHECK_CODES(0, 2, 99, 1);
}

TEST(tasks_that_await_one_another)
{
	uint32_t got[64];

	make_tasks();
	task(2, 5, TASK(1));
	/* 16 tasks, of two coroutines and of one, and the four that are there. */
	CHECK_EQ(codes(got), 4 + 8 * 3);
	/* A coroutine that awaits itself. */
	make_tasks();
	coroutine(5, COROUTINE(5));
	CHECK_EQ(codes(got), 6 + PYTHON_CHAIN);
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
	RUN(tasks_that_await_the_running_one);
	RUN(tasks_that_await_one_another);
	RUN(a_thread_that_sleeps);
	RUN(a_thread_that_sleeps_and_begins_again);
	return TEST_END();
}
