/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a Lua: a file that has one and its code, calls and what they are called in
 * memory that is made of the input, the record of a function.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/lua_find.h"
#include "lang/lua_text.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 1024
#define THREAD 0x10100	/* where it is looked for */

struct lua_env {
	const uint8_t *p;
	size_t n;
};

static int lua_read(struct lua_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#include "bpf/lua_describe.h"

static void name(struct lua_env *env, struct lua_state *s, const struct ebp_lua *o)
{
	struct lua_naming n = { 0 };
	uint32_t instruction = lua_instruction(env, s);
	int reg = lua_called(o, instruction);
	uint8_t room[EBP_LUA_FAR_BYTES + EBP_LUA_LINE_BYTES];
	struct ebp_lua_table t = { 0 };

	if (reg >= 0) {
		n.left = (uint32_t)reg + 1;
		for (uint32_t i = 0; i < LUA_LOCALS && !lua_local(env, s, o, &n, i); i++)
			;
		if (!lua_before(env, s, &n, (uint32_t)reg))
			for (uint32_t i = 0; i < LUA_BEFORE && !lua_setter(s, o, &n, i); i++)
				;
		lua_fetched(env, s, o, &n);
		lua_string(env, n.name);
	}
	lua_table(env, s, o, &t, room);
	if (t.sent > EBP_LUA_LINE_BYTES || t.far_sent > EBP_LUA_FAR_BYTES)
		abort();
}

static void walk(const uint8_t *data, size_t size)
{
	struct lua_env env = { data, size };
	struct ebp_lua o;
	struct lua_state s = { 0 };

	if (size < sizeof(o))
		return;
	memcpy(&o, data, sizeof(o));
	if (!lua_look_at(&env, &s, &o, THREAD))
		return;
	lua_begin(&env, &s, &o);
	for (int i = 0; i < LUA_THREADS && lua_add_resumed(&env, &s, &o); i++)
		;
	lua_is_apart(&s);
	for (int i = 0; i < STEPS && !s.ended && !lua_step(&env, &s, &o); i++) {
		if (s.frame.pc > EBP_PLACE_NONE || s.left > LUA_THREADS)
			abort();
		if (s.code && i < 16)
			name(&env, &s, &o);
	}
}

/* The input as code: a byte of where functions start, then what they are. */
static void find(const uint8_t *data, size_t size)
{
	uint64_t starts[] = { 0x1000, 0x1000 + data[0] % (size + 1), 0x1000 + size };
	struct code_text t = { .bytes = (uint8_t *)data, .n = size, .address = 0x1000,
			       .starts = starts, .nstarts = 2 };
	struct lang_range loop;

	lua_find_loop(&t, 0x1000, &loop);
}

static void texts(const uint8_t *data, size_t size)
{
	char *source = strndup((const char *)data, size);
	uint32_t instruction = 0;

	if (!source)
		return;
	memcpy(&instruction, data, size < sizeof(instruction) ? size : sizeof(instruction));
	for (uint32_t version = 500; version < 506; version++)
		lua_event(version, instruction);
	free(lua_source_name(source));
	free(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	walk(data, size);
	fuzz_decode(data, size, EBP_LANGUAGE_LUA);
	fuzz_recognise(data, size, &lang_lua, "lua5.4");
	find(data, size);
	texts(data, size);
	return 0;
}
