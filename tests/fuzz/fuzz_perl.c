/* SPDX-License-Identifier: MIT */
/*
 * All that is read of a Perl: an interpreter's file and its code, contexts in memory that is made
 * of the input, the record of a sub.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/lang.h"
#include "fuzz/memory.h"
#include "lang/perl_find.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define STEPS 4096

struct perl_env {
	const uint8_t *p;
	size_t n;
};

static int perl_read(struct perl_env *env, void *dst, uint32_t size, uint64_t address)
{
	return memory_read(env->p, env->n, dst, size, address);
}

#include "unit/perl_text.h"

#include "bpf/perl_describe.h"

/* The record of the last frame's code. */
static void describe(struct perl_env *env, struct perl_state *s, const struct ebp_perl *o)
{
	struct ebp_code *r = calloc(1, sizeof(*r));

	perl_describe(env, s, o, r);
	fuzz_decode((const uint8_t *)r, sizeof(*r), EBP_LANGUAGE_PERL);
	free(r);
}

static void walk(const uint8_t *data, size_t size)
{
	struct perl_env env = { data, size };
	struct ebp_perl o;
	struct perl_state s = { 0 };

	if (size < sizeof(o))
		return;
	memcpy(&o, data, sizeof(o));
	if (perl_begin(&env, &s, &o, 0, size))
		return;
	for (int i = 0; i < STEPS && !s.ended && !perl_step(&env, &s, &o); i++) {
		if (s.place > EBP_PLACE_NONE)
			abort();
		if (i < 4)
			describe(&env, &s, &o);
	}
}

/* The input as code: a byte of where functions start, then what they are. */
static void find(const uint8_t *data, size_t size)
{
	uint64_t starts[] = { 0x1000, 0x1000 + data[0] % (size + 1), 0x1000 + size };
	struct code_text t = { .bytes = (uint8_t *)data, .n = size, .address = 0x1000,
			       .starts = starts, .nstarts = 2 };
	struct lang_image image = { 0 };

	perl_find_again(&t, &image);
	lang_image_free(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	walk(data, size);
	fuzz_decode(data, size, EBP_LANGUAGE_PERL);
	fuzz_recognise(data, size, &lang_perl, "libperl.so");
	find(data, size);
	return 0;
}
