/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a function of PHP says of itself. As php_step.h, for BPF and user space alike. */
#ifndef EBPROF_PHP_DESCRIBE_H
#define EBPROF_PHP_DESCRIBE_H

#include "bpf/php_step.h"

/* So that the compiler keeps a bound that the verifier has to see. */
#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

/* The string at @address into @dst, of which @mask + 1 bytes may be written. 1: it is there. */
static __always_inline int php_text(struct php_env *env, struct php_state *s, __u64 address,
				    struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u32 bytes;

	t->length = t->width = 0;
	t->object = address;
	t->length_at = PHP_LENGTH;
	t->text_at = PHP_TEXT;
	if (php_read(env, s->string, sizeof(s->string), address))
		return 0;
	bytes = s->string[2] < mask ? s->string[2] : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (php_read(env, dst, bytes, address + PHP_TEXT))
		return 0;
	t->length = s->string[2] < 1u << 30 ? s->string[2] : 1u << 30;
	t->width = EBP_TEXT_UTF8;
	return 1;
}

/* 1 where all could be read. */
static __always_inline int php_describe(struct php_env *env, struct php_state *s,
					const struct ebp_php *o, struct ebp_code *r)
{
	int whole = 1;

	r->version = o->version;
	/* What is no function's has a name that is empty. */
	r->name.width = EBP_TEXT_UTF8;
	if (s->code_words[PHP_NAME])
		whole &= php_text(env, s, s->code_words[PHP_NAME], &r->name, r->name_bytes,
				  EBP_CODE_NAME - 1);
	if (s->scope_name)
		whole &= php_text(env, s, s->scope_name, &r->scope, r->scope_bytes,
				  EBP_CODE_SCOPE - 1);
	if (!php_is_user(s))
		return whole;
	r->first_line = PHP_WORD(s, o->lines);
	return whole & php_text(env, s, PHP_WORD(s, o->file), &r->file, r->file_bytes,
				EBP_CODE_FILE - 1);
}

#endif
