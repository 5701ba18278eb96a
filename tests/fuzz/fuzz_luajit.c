/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a LuaJIT: a file that has one and its code, frames and what they are called
 * in memory that is made of the input, the record of a function.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/luajit_find.h"
#include "lang/luajit_text.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 64
#define FRAMES 8

struct luajit_env {
	const uint8_t *p;
	size_t n;
};

static int luajit_read(struct luajit_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#include "unit/luajit_rounds.h"

static void name(struct luajit_env *env, struct luajit_state *s, const struct ebp_luajit *o)
{
	struct luajit_naming n = { 0 };
	struct ebp_luajit_table t = { 0 };
	uint8_t lines[EBP_LUAJIT_LINES], names[EBP_LUAJIT_NAMES];

	if (luajit_before(env, s, &n))
		for (uint32_t i = 1; i < EBP_LUAJIT_BEFORE && !luajit_setter(env, s, o, &n, i); i++)
			;
	luajit_names(env, s, o, &t, names);
	if (s->frame.proto)
		luajit_lines(env, s, o, &t, lines);
	if (t.lines_sent > EBP_LUAJIT_LINES || t.names_sent > EBP_LUAJIT_NAMES)
		abort();
}

static void walk(const uint8_t *data, size_t size)
{
	struct luajit_env env = { data, size };
	struct ebp_luajit o;
	struct luajit_state s = { 0 };

	if (size < sizeof(o) + sizeof(s.at))
		return;
	memcpy(&o, data, sizeof(o));
	memcpy(&s.at, data + sizeof(o), sizeof(s.at));
	for (int frame = 0; frame < FRAMES; frame++) {
		luajit_find(&env, &s, &o);
		if (luajit_begin(&env, &s, &o))
			return;
		luajit_first(&env, &s, &o);
		for (int i = 0; i < STEPS && !luajit_is_over(&s); i++) {
			luajit_step(&env, &s, &o);
			if (s.frame.pc > EBP_PLACE_NONE)
				abort();
			if (s.code && i < 8)
				name(&env, &s, &o);
		}
		s.at.sp = s.c_frame + o.c_bytes;
		s.at.pc = s.return_to;
		s.at.fp = s.caller_fp;
		s.at.exact = 0;
	}
}

/* The input as code: a byte of where functions start, then what they are. */
static void find(const uint8_t *data, size_t size)
{
	uint64_t starts[] = { 0x1000, 0x1000 + data[0] % (size + 1), 0x1000 + size };
	struct code_text t = { .bytes = (uint8_t *)data, .n = size, .address = 0x1000,
			       .starts = starts, .nstarts = 2 };
	struct ebp_luajit o;
	struct lang_range loop;

	luajit_find_layout(&t, &o, &loop);
}

static void texts(const uint8_t *data, size_t size)
{
	char *source = strndup((const char *)data, size);

	if (!source)
		return;
	free(luajit_source_name(source, data[0] & 1));
	free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	walk(data, size);
	fuzz_decode(data, size, EBP_LANGUAGE_LUAJIT);
	fuzz_recognise(data, size, &lang_luajit, "luajit");
	find(data, size);
	texts(data, size);
	return 0;
}
