/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a code object of CPython says of itself. As python_step.h, for BPF and user space alike. */
#ifndef EBPROF_PYTHON_DESCRIBE_H
#define EBPROF_PYTHON_DESCRIBE_H

#include "bpf/python_step.h"

/* So that the compiler keeps a bound that the verifier has to see. */
#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

#define UNICODE_KIND(state)	((state) >> 2 & 7)
#define UNICODE_COMPACT		0x20u
#define UNICODE_ASCII		0x40u

/*
 * The string object at @address into @dst, of which @mask + 1 bytes may be written. Objects that
 * are not compact, which only old extensions make, have none.
 */
static __always_inline void python_text(struct python_env *env, struct python_state *s,
					const struct ebp_python *o, __u64 address,
					struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u64 *header = s->name_words;
	__u32 state = 0, bytes;

	t->length = t->width = 0;
	if (python_read(env, header, sizeof(s->name_words), address) ||
	    header[1] != s->bias + o->unicode_type ||
	    python_read(env, &state, sizeof(state), address + 32) || !(state & UNICODE_COMPACT))
		return;
	address += state & UNICODE_ASCII ? o->ascii : o->compact;
	bytes = header[2] < mask ? header[2] * UNICODE_KIND(state) : mask;
	bytes = bytes < mask ? bytes : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (python_read(env, dst, bytes, address))
		return;
	t->length = header[2] < 1u << 30 ? header[2] : 1u << 30;
	t->width = UNICODE_KIND(state);
}

/* The line table, a bytes object. Returns how much of it was read. */
static __always_inline __u32 python_table(struct python_env *env, struct python_state *s,
					  struct ebp_code *r, __u64 address)
{
	__u64 *header = s->name_words;
	__u32 n;

	r->table = address + 32;
	r->table_bytes = 0;
	if (python_read(env, header, sizeof(s->name_words), address))
		return 0;
	r->table_bytes = header[2] < 1u << 30 ? header[2] : 1u << 30;
	n = r->table_bytes < EBP_CODE_TABLE ? r->table_bytes : EBP_CODE_TABLE - 1;
	barrier_var(n);
	n &= EBP_CODE_TABLE - 1;
	return python_read(env, r->table_data, n, address + 32) ? 0 : n;
}

/*
 * Of the last frame's code into @r, which has room for EBP_CODE_TABLE bytes behind it. 1 where all
 * could be read.
 */
static __always_inline int python_describe(struct python_env *env, struct python_state *s,
					   const struct ebp_python *o, struct ebp_code *r)
{
	r->version = o->minor;
	r->first_line = python_half(s->code_words, o->code_first_line, PYTHON_CODE_WORDS - 1);
	python_text(env, s, o, CODE_WORD(s, o->code_name), &r->name, r->name_bytes,
		    EBP_CODE_NAME - 1);
	python_text(env, s, o, CODE_WORD(s, o->code_file), &r->file, r->file_bytes,
		    EBP_CODE_FILE - 1);
	r->head.n = python_table(env, s, r, CODE_WORD(s, o->code_table));
	return r->name.width && r->file.width && r->head.n;
}

#endif
