/* SPDX-License-Identifier: MIT */
/* Memory laid out as CPython 3.8, 3.11 and later do, and the step over its frames. */
#ifndef EBPROF_PYTHON_FAKE_H
#define EBPROF_PYTHON_FAKE_H

#include <stdint.h>
#include <string.h>

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

static inline int python_read(struct python_env *env, void *dst, uint32_t size, uint64_t address)
{
	env->reads++;
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#define PYTHON_AWAIT(o) ((o)->running_task)
#define PYTHON_KNOWN(env, s, o) 0

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

static inline void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static inline void put8(uint32_t address, uint8_t value)
{
	memory.bytes[address - BASE] = value;
}

/* A thread that runs frame 0. */
static inline void make(const struct ebp_python *o)
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

static inline void frame(const struct ebp_python *o, uint32_t i, uint32_t back, uint64_t place)
{
	put64(FRAME(i) + o->frame_code, CODE(i));
	put64(FRAME(i) + o->frame_back, back);
	put64(FRAME(i) + o->frame_place, place);
}

static inline int begin(const struct ebp_python *o)
{
	return python_begin(&memory, &s, o, BIAS, TP);
}

static inline int step(const struct ebp_python *o)
{
	return python_step(&memory, &s, o);
}

#endif
