/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a Ruby: an interpreter's file, frames and objects in memory that is made of
 * the input, the record of its code, its table of lines.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/ruby_find.h"
#include "lang/ruby_lines.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 4096

struct ruby_env {
	const uint8_t *p;
	size_t n;
};

static int ruby_read(struct ruby_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#include "bpf/ruby_describe.h"

static int read_memory(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	return ruby_read(ctx, to, (uint32_t)size, address + (uint64_t)pid);
}

/* The record that the BPF programs make of the last frame, and what becomes of it. */
static void describe(struct ruby_env *env, struct ruby_state *s, const struct ebp_ruby *o)
{
	struct ebp_code *r = calloc(1, sizeof(*r) + EBP_CODE_TABLE);
	struct lang_reader reader = { .read = read_memory, .ctx = env };
	struct lang_code code;

	r->language = EBP_LANGUAGE_RUBY;
	ruby_begin_table(o, r);
	ruby_table(env, s, o, r);
	ruby_name_object(env, s, o);
	ruby_text(env, s, o, r, RUBY_NAME);
	ruby_table_of(r)->singleton = ruby_owner(env, s, o);
	ruby_class_name(env, s, o);
	ruby_text(env, s, o, r, RUBY_SCOPE);
	ruby_file_object(env, s);
	ruby_text(env, s, o, r, RUBY_FILE);
	if (!lang_code_decode(r, sizeof(*r) + r->head.n, &code)) {
		lang_ruby.complete(&code, r, &reader);
		for (uint32_t place = 0; place < 64; place++)
			code.ops->line(&code, place * place);
		lang_code_free(&code);
	}
	free(r);
}

static void walk(const uint8_t *data, size_t size)
{
	struct ruby_env env = { data, size };
	struct ruby_state s = { 0 };
	struct ebp_ruby o;
	uint64_t tp;

	if (size < sizeof(o) + sizeof(tp))
		return;
	memcpy(&o, data, sizeof(o));
	memcpy(&tp, data + sizeof(o), sizeof(tp));
	ruby_begin(&env, &s, &o, tp, tp);
	memcpy(&s.frame, data + size - 8, 8);
	s.end = s.frame + (1u << 16);
	for (int i = 0; i < STEPS && !ruby_step(&env, &s, &o) && o.frame_bytes; i++) {
		ruby_code(&env, &s);
		for (int k = 0; k < RUBY_HOPS && ruby_hop(&env, &s); k++)
			;
		ruby_of_method(&s);
		if (s.place > EBP_PLACE_NONE)
			abort();
		if (i < 4)
			describe(&env, &s, &o);
	}
}

/* The input as code: two bytes of where functions start, then what they are. */
static void find(const uint8_t *data, size_t size)
{
	uint64_t starts[] = { 0x1000, 0x1000 + data[0] % (size + 1), 0x1000 + size };
	struct code_text t = { .bytes = (uint8_t *)data, .n = size, .address = 0x1000,
			       .starts = starts, .nstarts = 2 };
	struct lang_image image = { 0 };
	struct ruby_context context;
	struct ruby_symbols symbols;
	struct ruby_collector collector;

	ruby_find_collector(&t, 0x1000 + data[1], &collector);
	ruby_find_context(&t, 0x1000 + data[1], &context);
	ruby_find_key(&t, 0x1000 + data[1], &context);
	ruby_find_symbols(&t, 0x1000 + data[1], &symbols);
	ruby_find_interpreter(&t, 0, &image);
	lang_image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	for (uint32_t place = 0; place < 4; place++)
		ruby_line(data, size, place * place * 40);
	walk(data, size);
	fuzz_recognise(data, size, &lang_ruby, "libruby.so");
	find(data, size);
	return 0;
}
