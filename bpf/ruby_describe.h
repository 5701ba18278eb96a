/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What code of Ruby says of itself. As ruby_step.h, for BPF and user space alike. */
#ifndef EBPROF_RUBY_DESCRIBE_H
#define EBPROF_RUBY_DESCRIBE_H

#include "bpf/ruby_step.h"

/* So that the compiler keeps a bound that the verifier has to see. */
#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

#define RUBY_EMBEDDED	0x2000		/* flag of an array; of a string, that it is not */
#define RUBY_SEGMENT	512		/* names of symbols in one array */
#define RUBY_DEF_ID	32		/* of a method's definition: the symbol */
#define RUBY_VARIABLES	4		/* of a class, that are looked at */
#define RUBY_HASH_NONE	(~0ull)		/* of a variable that is gone */

/* How positions are counted (succ_index_table): the first by themselves, the others in blocks. */
#define RUBY_FIRST	54
#define RUBY_FIRST_BYTES 48
#define RUBY_BLOCK	512
#define RUBY_BLOCK_BYTES 80

/* --- Objects. ------------------------------------------------------------------ */

/* Element @i of the array at @array; 0: there is none. */
static __always_inline __u64 ruby_element(struct ruby_env *env, __u64 array, __u32 i)
{
	__u64 words[5] = { 0 };

	if (!array || ruby_read(env, words, sizeof(words), array) ||
	    RUBY_TYPE(words[0]) != RUBY_ARRAY)
		return 0;
	if (words[0] & RUBY_EMBEDDED)
		return ruby_word(env, array + 16 + i * 8ull);
	return i < words[2] ? ruby_word(env, words[4] + i * 8ull) : 0;
}

/* The name of symbol @id, a string object; 0: not known. */
static __always_inline __u64 ruby_symbol(struct ruby_env *env, const struct ruby_state *s,
					 const struct ebp_ruby *o, __u64 id)
{
	__u32 number = id > o->last_operator ? id >> 4 : id;
	__u64 segment;

	segment = ruby_element(env, ruby_word(env, s->bias + o->ids), number / RUBY_SEGMENT);
	return ruby_element(env, segment, number % RUBY_SEGMENT * 2);
}

/* Bytes of the string object whose words are in s->name_words. */
static __always_inline __u64 ruby_string_bytes(const struct ruby_state *s, const struct ebp_ruby *o)
{
	const __u64 *words = s->name_words;

	return words[0] & RUBY_EMBEDDED || !(o->flags & EBP_RUBY_SHORT) ? words[2]
								      : words[0] >> 14 & 31;
}

/*
 * The string object s->object as text @i of the record, of which there are three in a row, as are
 * their bytes: so the verifier has one way to look at.
 */
static __always_inline void ruby_text(struct ruby_env *env, struct ruby_state *s,
				      const struct ebp_ruby *o, struct ebp_code *r, __u32 i)
{
	__u64 *words = s->name_words, at;
	__u8 *at_record = (__u8 *)r, *dst = at_record;
	struct ebp_text *t = (void *)(at_record + __builtin_offsetof(struct ebp_code, name));
	__u32 mask = (EBP_CODE_NAME - 1) | (i & 2) * (EBP_CODE_NAME / 2), bytes;

	barrier_var(i);
	t += i & 3;
	dst += __builtin_offsetof(struct ebp_code, name_bytes) + (i & 3) * EBP_CODE_NAME;
	if (!s->object || s->object & 7 ||
	    ruby_read(env, words, sizeof(s->name_words), s->object) ||
	    RUBY_TYPE(words[0]) != RUBY_STRING)
		return;
	at = s->object + (o->flags & EBP_RUBY_SHORT ? 16 : 24);
	if (words[0] & RUBY_EMBEDDED)
		at = words[3];
	words[2] = ruby_string_bytes(s, o);
	bytes = words[2] < mask ? words[2] : mask;
	barrier_var(bytes);
	bytes &= 2 * EBP_CODE_NAME - 1;
	if (ruby_read(env, dst, bytes, at))
		return;
	t->length = words[2] < 1u << 30 ? words[2] : 1u << 30;
	t->width = EBP_TEXT_UTF8;
}

/* --- Classes. ------------------------------------------------------------------ */

/* The first variables of class @at, {hash, key, value} each: into s->variables. How many. */
static __always_inline __u32 ruby_variables(struct ruby_env *env, struct ruby_state *s, __u64 at)
{
	__u64 table = ruby_word(env, ruby_word(env, at + 24) + 8), bound;

	if (!table)
		return 0;
	bound = ruby_word(env, table + 40);
	if (ruby_read(env, s->variables, sizeof(s->variables), ruby_word(env, table + 48)))
		return 0;
	return bound < RUBY_VARIABLES ? bound : RUBY_VARIABLES;
}

/* What each class has its name as: the first variable of Object. */
static __always_inline __u64 ruby_name_key(struct ruby_env *env, struct ruby_state *s,
					   const struct ebp_ruby *o)
{
	__u64 object = ruby_word(env, s->bias + o->object);

	return ruby_variables(env, s, object) ? s->variables[1] : 0;
}

/* Variable @i, one of @n, if it is there; else 0. */
static __always_inline __u64 ruby_variable(const struct ruby_state *s, __u32 n, __u32 i)
{
	return i < n && s->variables[3 * i] != RUBY_HASH_NONE ? s->variables[3 * i + 2] : 0;
}

/* The name of class or module s->object in its place; 0: it has none. */
static __always_inline void ruby_class_name(struct ruby_env *env, struct ruby_state *s,
					    const struct ebp_ruby *o)
{
	__u64 key, at = s->object, flags = at & 7 ? 0 : ruby_word(env, at);
	__u32 n;

	s->object = 0;
	if (RUBY_TYPE(flags) != RUBY_CLASS && RUBY_TYPE(flags) != RUBY_MODULE)
		return;
	if (!(o->flags & EBP_RUBY_VARIABLES)) {
		s->object = o->class_name ? ruby_word(env, at + o->class_name) : 0;
		return;
	}
	key = ruby_name_key(env, s, o);
	n = ruby_variables(env, s, at);
	if (!key)
		return;
#ifdef __clang__
#pragma unroll
#endif
	for (__u32 i = 0; i < RUBY_VARIABLES; i++)
		if (s->variables[3 * i + 1] == key)
			s->object = ruby_variable(s, n, i);
}

/* Whose singleton class s->object is, in its place; 0: not known. */
static __always_inline void ruby_attached(struct ruby_env *env, struct ruby_state *s,
					  const struct ebp_ruby *o)
{
	__u64 single = s->object, value;
	__u32 n;

	if (!(o->flags & EBP_RUBY_VARIABLES)) {
		s->object = o->class_attached ? ruby_word(env, single + o->class_attached) : 0;
		return;
	}
	n = ruby_variables(env, s, single);
	s->object = 0;
#ifdef __clang__
#pragma unroll
#endif
	for (__u32 i = 0; i < RUBY_VARIABLES; i++) {
		value = s->variables[3 * i + 2];
		if (ruby_word(env, (value & ~7ull) + 8) == single)
			s->object = ruby_variable(s, n, i);
	}
}

/*
 * The class or module that the frame's method belongs to into s->object. Returns whether it is the
 * method of that object itself.
 */
static __always_inline int ruby_owner(struct ruby_env *env, struct ruby_state *s,
				      const struct ebp_ruby *o)
{
	__u64 flags;

	s->object = s->method ? s->method_words[RUBY_METHOD_OWNER] : 0;
	flags = ruby_word(env, s->object);
	if (RUBY_TYPE(flags) == RUBY_ICLASS) {
		s->object = ruby_word(env, s->object + 8);
		flags = ruby_word(env, s->object);
	}
	if (RUBY_TYPE(flags) != RUBY_CLASS || !(flags & o->singleton))
		return 0;
	ruby_attached(env, s, o);
	return 1;
}

/* --- Lines. -------------------------------------------------------------------- */

/* The index of positions, and the lines, behind @t. Their bytes; 0: not all could be read. */
static __always_inline __u32 ruby_lines(struct ruby_env *env, struct ruby_state *s,
					const struct ebp_ruby *o, struct ebp_ruby_table *t,
					__u8 *to)
{
	const __u64 *insns = &s->body_words[o->insns >> 3 & 15];
	__u32 size = s->body_words[RUBY_BODY_SIZE] >> 32, index = RUBY_FIRST_BYTES, lines;

	if (size > RUBY_FIRST)
		index += (size - RUBY_FIRST + RUBY_BLOCK - 1) / RUBY_BLOCK * RUBY_BLOCK_BYTES;
	t->entries = insns[2];
	t->entry_bytes = o->entry_bytes;
	t->index_room = EBP_RUBY_INDEX;
	t->index_at = insns[3];
	t->lines_at = insns[0];
	t->index_all = index;
	lines = t->entries < EBP_RUBY_LINES / 8 ? t->entries * o->entry_bytes : EBP_RUBY_LINES;
	index = index < EBP_RUBY_INDEX ? index : EBP_RUBY_INDEX;
	lines = lines < EBP_RUBY_LINES ? lines : EBP_RUBY_LINES;
	barrier_var(index);
	barrier_var(lines);
	if (index > EBP_RUBY_INDEX || lines > EBP_RUBY_LINES || !lines)
		return 0;
	if (ruby_read(env, to, index, insns[3]) ||
	    ruby_read(env, to + EBP_RUBY_INDEX, lines, insns[0]))
		return 0;
	t->index_bytes = index;
	return EBP_RUBY_INDEX + lines;
}

/* --- All of it, in parts. ------------------------------------------------------ */

/* What is read of the code that the last step found: texts, in their order in the record. */
enum { RUBY_NAME, RUBY_SCOPE, RUBY_FILE, RUBY_TEXTS };

static __always_inline struct ebp_ruby_table *ruby_table_of(struct ebp_code *r)
{
	return (void *)r->table_data;
}

static __always_inline void ruby_begin_table(const struct ebp_ruby *o, struct ebp_code *r)
{
	struct ebp_ruby_table *t = ruby_table_of(r);

	*t = (struct ebp_ruby_table){};
	r->head.n = sizeof(*t);
	r->version = o->version;
}

/* Each of the texts: its string object into s->object; 0: there is none. */
static __always_inline void ruby_name_object(struct ruby_env *env, struct ruby_state *s,
					     const struct ebp_ruby *o)
{
	if (s->is_c)
		s->object = ruby_symbol(env, s, o,
					ruby_word(env, s->method_words[RUBY_METHOD_DEF] +
							       RUBY_DEF_ID));
	else
		s->object = s->body_words[RUBY_BODY_LABEL];
}

static __always_inline void ruby_file_object(struct ruby_env *env, struct ruby_state *s)
{
	__u64 path;

	s->object = s->is_c ? 0 : s->body_words[RUBY_BODY_PATH];
	/* Beside the absolute path. */
	path = ruby_element(env, s->object, 0);
	if (path)
		s->object = path;
}

static __always_inline void ruby_table(struct ruby_env *env, struct ruby_state *s,
				       const struct ebp_ruby *o, struct ebp_code *r)
{
	struct ebp_ruby_table *t = ruby_table_of(r);
	__u64 first = s->body_words[RUBY_BODY_FIRST_LINE];
	__u32 n;

	if (s->is_c)
		return;
	if (!ruby_read(env, s->name_words, sizeof(s->name_words), s->body_words[RUBY_BODY_BASE]) &&
	    RUBY_TYPE(s->name_words[0]) == RUBY_STRING)
		t->base = ruby_string_bytes(s, o);
	/* A Fixnum, then an int. */
	r->first_line = o->flags & EBP_RUBY_SHORT ? first >> 1 : first;
	n = ruby_lines(env, s, o, t, r->table_data + sizeof(*t));
	r->head.n = sizeof(*t) + n;
}

/* Of the collector, which is no code of Ruby. */
static __always_inline void ruby_describe_collector(struct ebp_code *r)
{
	r->name.length = 4;
	r->name.width = EBP_TEXT_UTF8;
	r->name_bytes[0] = '[';
	r->name_bytes[1] = 'G';
	r->name_bytes[2] = 'C';
	r->name_bytes[3] = ']';
}

/* Whether nothing is missing that may be there the next time. */
static __always_inline int ruby_is_whole(const struct ruby_state *s, const struct ebp_code *r)
{
	const struct ebp_ruby_table *t = (const void *)r->table_data;

	return r->name.width && (s->is_c || (r->file.width && t->index_bytes));
}

#endif
