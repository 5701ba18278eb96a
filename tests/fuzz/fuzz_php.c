/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a PHP: an interpreter's file, frames in memory that is made of the input, the
 * record of a function.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 4096

struct php_env {
	const uint8_t *p;
	size_t n;
};

static int php_read(struct php_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#include "bpf/php_describe.h"

/* The record of the last frame's code. */
static void describe(struct php_env *env, struct php_state *s, const struct ebp_php *o)
{
	struct ebp_code *r = calloc(1, sizeof(*r));

	php_describe(env, s, o, r);
	fuzz_decode((const uint8_t *)r, sizeof(*r), EBP_LANGUAGE_PHP);
	free(r);
}

static void walk(const uint8_t *data, size_t size)
{
	struct php_env env = { data, size };
	struct ebp_php o;
	struct php_state s = { 0 };
	uint64_t registers[2];

	if (size < sizeof(o) + sizeof(registers))
		return;
	memcpy(&o, data, sizeof(o));
	memcpy(registers, data + sizeof(o), sizeof(registers));
	if (php_begin(&env, &s, &o, 0, registers[1], registers[0], registers[1]))
		return;
	for (int i = 0; i < STEPS && !php_step(&env, &s, &o); i++) {
		if (s.place > EBP_PLACE_NONE || s.waiting > PHP_CHAIN)
			abort();
		if (i < 4)
			describe(&env, &s, &o);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(data, size);
	fuzz_decode(data, size, EBP_LANGUAGE_PHP);
	fuzz_recognise(data, size, &lang_php, "php8.2");
	return 0;
}
