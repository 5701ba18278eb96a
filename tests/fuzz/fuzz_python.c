/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a Python: an interpreter's file, frames in memory that is made of the input,
 * in BPF's steps and of a thread that sleeps, the record of a code object, line tables of each
 * version.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/python_lines.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 4096

struct python_env {
	const uint8_t *p;
	size_t n;
};

static int python_read(struct python_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#define PYTHON_AWAIT(o) ((o)->running_task)
#define PYTHON_KNOWN(env, s, o) 0

#include "bpf/python_step.h"

static void walk(const uint8_t *data, size_t size)
{
	struct python_env env = { data, size };
	struct ebp_python o;
	struct python_state s = { 0 };
	uint64_t tp;

	if (size < sizeof(o) + sizeof(tp))
		return;
	memcpy(&o, data, sizeof(o));
	memcpy(&tp, data + sizeof(o), sizeof(tp));
	python_begin(&env, &s, &o, tp, tp);
	memcpy(&s.frame, data + size - 8, 8);
	for (int i = 0; i < STEPS && python_step(&env, &s, &o) >= 0; i++)
		if (s.place > EBP_PLACE_NONE)
			abort();
}

static int read_memory(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	return python_read(ctx, to, (uint32_t)size, address + (uint64_t)pid);
}

static uint64_t find(void *ctx, uint64_t identity)
{
	(void)ctx;
	return identity % 3 ? 0 : EBP_CODE_FIRST;
}

static uint64_t take(void *ctx, uint64_t identity, struct ebp_code *record)
{
	struct lang_code code;

	(void)ctx;
	(void)identity;
	if (lang_code_decode(record, sizeof(*record) + record->head.n, &code))
		abort();
	lang_code_free(&code);
	return EBP_CODE_FIRST + 1;
}

static void sleep_at(const uint8_t *data, size_t size)
{
	struct python_env env = { data, size };
	const struct lang_reader reader = { .read = read_memory, .ctx = &env };
	struct ebp_layout layout = { .language = EBP_LANGUAGE_PYTHON };
	struct lang_walk w = { .layout = &layout, .reader = &reader, .find = find, .take = take };
	uint64_t words[EBP_WORDS_MAX];

	if (size < sizeof(struct ebp_python) + sizeof(w.bias))
		return;
	memcpy(layout.words, data, sizeof(struct ebp_python));
	memcpy(&w.bias, data + sizeof(struct ebp_python), sizeof(w.bias));
	w.thread_pointer = w.bias;
	if (lang_python.walk(&w, words) > EBP_WORDS_MAX)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	for (uint32_t place = 0; place < 4; place++)
		python_line(6 + data[0] % 10, data + 1, size - 1, data[1], place * place * 40);
	walk(data + 1, size - 1);
	sleep_at(data + 1, size - 1);
	fuzz_decode(data + 1, size - 1, EBP_LANGUAGE_PYTHON);
	fuzz_recognise(data, size, &lang_python, "python3.8");
	return 0;
}
