/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a V8: its file, frames, functions and strings in memory that is made of the
 * input, the record of a function with what completes it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 512

struct v8_env {
	const uint8_t *p;
	size_t n;
};

static int v8_read(struct v8_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#define V8_OPAQUE(x) (void)(x)

#include "bpf/v8_describe.h"
#include "bpf/v8_swap.h"

static int v8_text_hop(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
		       struct v8_text *t, uint8_t *dst, uint32_t mask)
{
	return v8_text_step(env, s, o, t, dst, mask);
}

union record {
	struct ebp_code code;
	uint8_t bytes[sizeof(struct ebp_code) + EBP_CODE_TABLE];
};

static int read_memory(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	const struct v8_env *env = ctx;

	(void)pid;
	return memory_read(env->p, env->n, to, (uint32_t)size, address);
}

static void complete(struct v8_env *env, union record *r, void *state)
{
	const struct lang_reader reader = { .read = read_memory, .ctx = env, .state = state };
	struct lang_frame frames[LANG_FRAMES];
	struct lang_code code;

	r->code.language = EBP_LANGUAGE_V8;
	if (lang_code_decode(&r->code, sizeof(*r), &code))
		return;
	code.ops->complete(&code, &r->code, &reader);
	for (uint32_t place = 0; place < 64; place++)
		if (!code.ops->frames(&code, place, frames, LANG_FRAMES))
			abort();
	lang_code_free(&code);
}

static void walk(const uint8_t *data, size_t size, void *state)
{
	struct v8_env env = { data, size };
	struct v8_state s = { 0 };
	struct ebp_v8 o;
	union record r;
	uint64_t registers[3];

	if (size < sizeof(o) + sizeof(registers))
		return;
	memcpy(&o, data, sizeof(o));
	memcpy(registers, data + sizeof(o), sizeof(registers));
	for (int i = 0; i < STEPS; i++) {
		if (v8_look(&env, &s, &o, registers[0], registers[1], registers[2], i & 1))
			break;
		if (s.place > EBP_PLACE_NONE)
			abort();
		memset(&r, 0, sizeof(r));
		v8_describe(&env, &s, &o, &r.code);
		if (r.code.head.n >= EBP_CODE_TABLE)
			abort();
		if (!i)
			complete(&env, &r, state);
		registers[1] = s.words[V8_CALLER_FP];
		registers[2] = s.words[V8_CALLER_PC];
	}
}

/* Frames that are about to be others: the code behind a call, and what it finds on the stack. */
static void swap(const uint8_t *data, size_t size)
{
	struct v8_env env = { data, size };
	__u64 code[V8_SWAP_CODE / sizeof(__u64)];
	struct v8_state s = { 0 };
	struct ebp_v8 o;
	uint32_t field;
	uint64_t sp;

	if (size < sizeof(code) + sizeof(sp) + sizeof(o))
		return;
	memcpy(code, data, sizeof(code));
	memcpy(&sp, data + sizeof(code), sizeof(sp));
	memcpy(&o, data + sizeof(code) + sizeof(sp), sizeof(o));
	if (v8_swap(code, &field) != V8_SWAP_UNDONE)
		return;
	if (field > 0x7f)
		abort();
	v8_undone(&env, &s, &o, sp, field);
}

/* As it may come through the ring buffer, whoever wrote it. */
static void decode(const uint8_t *data, size_t size, void *state)
{
	struct v8_env env = { data, size };
	union record r = { .code = { .id = 0 } };

	memcpy(r.bytes, data, size < sizeof(r) ? size : sizeof(r));
	r.code.head.n &= EBP_CODE_TABLE - 1;
	complete(&env, &r, state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	void *state = lang_v8.open();

	walk(data, size, state);
	swap(data, size);
	decode(data, size, state);
	fuzz_recognise(data, size, &lang_v8, "node");
	lang_v8.close(state);
	return 0;
}
