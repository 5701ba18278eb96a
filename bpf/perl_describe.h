/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a sub of Perl says of itself. As perl_step.h, for BPF and user space alike. */
#ifndef EBPROF_PERL_DESCRIBE_H
#define EBPROF_PERL_DESCRIBE_H

#include "bpf/perl_step.h"

/* So that the compiler keeps a bound that the verifier has to see. */
#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

/* Of a HEK: a hash, the length, the text, and behind that a zero and flags. */
#define PERL_HEK_LENGTH	4
#define PERL_HEK_TEXT	8
#define PERL_HEK_UTF8	1

/* The HEK at @address into @dst, of which @mask + 1 bytes may be written. 1: it is there. */
static __always_inline int perl_text(struct perl_env *env, __u64 address, struct ebp_text *t,
				     __u8 *dst, __u32 mask)
{
	__u32 length = 0, bytes;
	__u8 flags = 0;

	if (perl_read(env, &length, sizeof(length), address + PERL_HEK_LENGTH) ||
	    length >= 1u << 30)
		return 0;
	bytes = length < mask ? length : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (perl_read(env, dst, bytes, address + PERL_HEK_TEXT) ||
	    perl_read(env, &flags, sizeof(flags), address + PERL_HEK_TEXT + length + 1))
		return 0;
	t->length = length;
	t->width = flags & PERL_HEK_UTF8 ? EBP_TEXT_UTF8 : 1;
	return 1;
}

/* The HEK that has the name of the package @stash; 0: it has none. */
static __always_inline __u64 perl_package(struct perl_env *env, const struct ebp_perl *o,
					  __u64 stash)
{
	__u64 aux = 0, name = 0, last = 0, array = 0;
	__u32 names = 0;

	perl_read(env, &aux, sizeof(aux), stash);
	perl_read(env, &last, sizeof(last), aux + PERL_HV_LAST);
	perl_read(env, &array, sizeof(array), stash + PERL_HV_ARRAY);
	aux = o->aux_behind ? array + (last + 1) * sizeof(__u64) : aux + PERL_HV_AUX;
	if (perl_read(env, &name, sizeof(name), aux + PERL_AUX_NAME) ||
	    perl_read(env, &names, sizeof(names), aux + PERL_AUX_NAMES) ||
	    (names && perl_read(env, &name, sizeof(name), name)))
		return 0;
	return name;
}

/* The line of the first statement of the sub in s->body; 0: it has none. */
static __always_inline __u32 perl_first_line(struct perl_env *env, struct perl_state *s,
					     const struct ebp_perl *o)
{
	__u64 word = 0;

	perl_read(env, &word, sizeof(word), s->body[PERL_CV_START] + PERL_COP_TYPE);
	return (word & 511) == o->op_state ? word >> 32 : 0;
}

/* 1 where all could be read. */
static __always_inline int perl_describe(struct perl_env *env, struct perl_state *s,
					 const struct ebp_perl *o, struct ebp_code *r)
{
	int whole = 1;
	long n;

	r->version = o->version;
	/* What is no sub's has a name that is empty. */
	r->name.width = EBP_TEXT_UTF8;
	if (s->code > PERL_CODE_EVAL) {
		__u64 package = s->stash ? perl_package(env, o, s->stash) : 0;

		if (s->name)
			whole &= perl_text(env, s->name, &r->name, r->name_bytes,
					   EBP_CODE_NAME - 1);
		if (package)
			whole &= perl_text(env, package, &r->scope, r->scope_bytes,
					   EBP_CODE_SCOPE - 1);
		r->first_line = perl_first_line(env, s, o);
	} else if (s->code == PERL_CODE_FILE) {
		r->table = EBP_PERL_FILE;
	}
	n = perl_read_text(env, r->file_bytes, sizeof(r->file_bytes), s->file);
	if (n <= 0)
		return 0;
	r->file.length = n - 1;
	r->file.width = EBP_TEXT_UTF8;
	return whole;
}

#endif
