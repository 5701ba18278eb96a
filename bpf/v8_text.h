/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Strings of V8, and which of them names a function. As v8_step.h, which is to be included before.
 *
 * A string's instance type says how wide its characters are and where they lie: in it, outside of
 * V8's heap, in another string, or in two that follow one another.
 */
#ifndef EBPROF_V8_TEXT_H
#define EBPROF_V8_TEXT_H

#include "bpf/lang.h"

/* Bits of the instance type of a string. */
#define V8_STRING_SHAPE		7
#define V8_STRING_IN_ITSELF	0
#define V8_STRING_CONS		1
#define V8_STRING_EXTERNAL	2
#define V8_STRING_SLICED	3
#define V8_STRING_THIN		5
#define V8_STRING_BYTES		8	/* Latin-1, else UTF-16 */

#define V8_CHARACTERS	16	/* of a string: where they begin */
#define V8_HOPS		8	/* from string to string */

/* The beginning of the string at @at into s->object. Its type, or V8_NO_TYPE: it is none. */
static __always_inline __u32 v8_string(struct v8_env *env, struct v8_state *s,
				       const struct ebp_v8 *o, __u64 at)
{
	__u32 type;

	if (!(at & 1) || v8_read(env, s->object, sizeof(s->object), at - 1))
		return V8_NO_TYPE;
	type = v8_type_of(env, s, s->object[0]);
	return type < o->nonstring_type ? type : V8_NO_TYPE;
}

/* Whether a string of that type has its characters, which are not in another. */
static __always_inline int v8_has_characters(__u32 type)
{
	return (type & V8_STRING_SHAPE) == V8_STRING_IN_ITSELF ||
	       (type & V8_STRING_SHAPE) == V8_STRING_EXTERNAL;
}

/*
 * The characters of the string at @at, in s->object, whose type is @type, to @from up to @to of
 * those in @dst. At most @mask bytes, and from no more than @mask on. 0, or negative.
 */
static __always_inline int v8_copy(struct v8_env *env, const struct v8_state *s, struct v8_text *t,
				   __u64 at, __u32 type, __u32 from, __u32 to, __u8 *dst,
				   __u32 mask)
{
	__u32 shift = type & V8_STRING_BYTES ? 0 : 1, n = to - from;
	__u64 place = at - 1 + V8_CHARACTERS;

	if (t->type == V8_NO_TYPE)
		t->type = type;
	if ((type ^ t->type) & V8_STRING_BYTES || !v8_has_characters(type) || from > to)
		return -1;
	if ((type & V8_STRING_SHAPE) == V8_STRING_EXTERNAL)
		place = s->object[3];
	if (from > mask >> shift)
		return 0;
	n = n > mask >> shift ? mask >> shift : n;
	n <<= shift;
	from <<= shift;
	V8_OPAQUE(n);
	V8_OPAQUE(from);
	return v8_read(env, dst + (from & mask), n & mask, place + (t->skip << shift));
}

/*
 * Takes one of the two strings in s->object, which follow one another: names that V8 makes up grow
 * at one end. 1: go on with the other; negative: it cannot be read.
 */
static __always_inline int v8_text_pair(struct v8_env *env, struct v8_state *s,
					const struct ebp_v8 *o, struct v8_text *t, __u8 *dst,
					__u32 mask)
{
	__u64 first = s->object[2], second = s->object[3];
	__u32 type = v8_string(env, s, o, second), border;

	if (t->skip)
		return -1;
	if (v8_has_characters(type)) {
		border = t->end - (__u32)(s->object[1] >> 32);
		if (border < t->begin || border > t->end ||
		    v8_copy(env, s, t, second, type, border, t->end, dst, mask))
			return -1;
		t->end = border;
		t->at = first;
		return 1;
	}
	type = v8_string(env, s, o, first);
	border = t->begin + (__u32)(s->object[1] >> 32);
	if (border < t->begin || border > t->end ||
	    v8_copy(env, s, t, first, type, t->begin, border, dst, mask))
		return -1;
	t->begin = border;
	t->at = second;
	return 1;
}

/* Takes one string of @t. 1: go on with t->at; 0: that was all; negative: it cannot be read. */
static __always_inline int v8_text_step(struct v8_env *env, struct v8_state *s,
					const struct ebp_v8 *o, struct v8_text *t, __u8 *dst,
					__u32 mask)
{
	__u32 type = v8_string(env, s, o, t->at);

	if (type == V8_NO_TYPE)
		return -1;
	switch (type & V8_STRING_SHAPE) {
	case V8_STRING_THIN:
		t->at = s->object[2];
		return 1;
	case V8_STRING_SLICED:
		t->at = s->object[2];
		t->skip += s->object[3] >> 32;
		return 1;
	case V8_STRING_CONS:
		return v8_text_pair(env, s, o, t, dst, mask);
	default:
		return v8_copy(env, s, t, t->at, type, t->begin, t->end, dst, mask);
	}
}

/* The includer's v8_text_step(), which may be a function that the verifier looks at once. */
static int v8_text_hop(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
		       struct v8_text *t, __u8 *dst, __u32 mask);

/* The string at @at into @dst, of which 2 * @mask bytes may be written. 0, or negative. */
static __always_inline int v8_text(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
				   __u64 at, struct ebp_text *text, __u8 *dst, __u32 mask)
{
	struct v8_text *t = &s->text;
	int more = 1;

	if (v8_string(env, s, o, at) == V8_NO_TYPE)
		return -1;
	t->at = at;
	t->skip = t->begin = 0;
	t->end = t->length = s->object[1] >> 32;
	t->type = V8_NO_TYPE;
	for (int i = 0; i < V8_HOPS && more > 0; i++)
		more = v8_text_hop(env, s, o, t, dst, mask);
	if (more)
		return -1;
	text->length = t->length < 1u << 30 ? t->length : 1u << 30;
	text->width = t->type & V8_STRING_BYTES ? 1 : 2;
	return 0;
}

#define V8_NAME_WORDS	6	/* of a ScopeInfo behind its locals, among which its names are */
/* locals from which on a ScopeInfo has them in a table of its own, and since when */
#define V8_LOCALS_INSIDE	75
#define V8_LOCALS_TABLE		10

/*
 * What is behind the locals of the ScopeInfo at @at into @c. Returns its name, or the one that V8
 * made up: a string, tagged; 0: it has none.
 */
static __always_inline __u64 v8_scope(struct v8_env *env, struct v8_state *s,
				      const struct ebp_v8 *o, __u64 at, struct ebp_v8_code *c)
{
	__u64 count = 0, place = at - 1 + o->scope_locals;

	if (v8_read(env, &count, sizeof(count), at - 1 + o->scope_count) ||
	    v8_read(env, c->scope_before, sizeof(c->scope_before), place - 16))
		return 0;
	count >>= 32;
	count = o->version >= V8_LOCALS_TABLE && count >= V8_LOCALS_INSIDE ? count + 1 : 2 * count;
	if (v8_read(env, c->scope, sizeof(c->scope), place + 8 * count))
		return 0;
	for (int i = 0; i < V8_NAME_WORDS; i++)
		if (v8_string(env, s, o, c->scope[i]) != V8_NO_TYPE && s->object[1] >> 32)
			return c->scope[i];
	return 0;
}

#endif
