/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a PHP: an interpreter's file, frames in memory that is made of the input, the
 * record of a function.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/memory.h"
#include "lang/lang.h"

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

#include "bpf/php_step.h"

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
	if (php_begin(&env, &s, &o, 0, registers[0], registers[1]))
		return;
	for (int i = 0; i < STEPS && !php_step(&env, &s, &o); i++)
		if (s.place > EBP_PLACE_NONE || s.waiting > PHP_CHAIN)
			abort();
}

static void decode(const uint8_t *data, size_t size)
{
	struct ebp_code *record = malloc(size + 8);
	struct lang_code code;

	memcpy(record, data, size);
	if (size >= sizeof(*record))
		record->language = EBP_LANGUAGE_PHP;
	if (!lang_code_decode(record, size, &code)) {
		code.ops->complete(&code, record, NULL);
		for (uint32_t place = 0; place < 64; place++)
			code.ops->line(&code, place);
		lang_code_free(&code);
	}
	free(record);
}

static void recognise(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	struct lang_image image = { 0 };

	if (!f)
		return;
	lang_php.recognise(f, "php8.2", &image);
	lang_image_runs(&image, 5);
	lang_image_free(&image);
	elf_file_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk(data, size);
	decode(data, size);
	recognise(data, size);
	return 0;
}
