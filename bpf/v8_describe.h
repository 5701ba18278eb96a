/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a function of JavaScript says of itself. As v8_step.h, for BPF and user space alike. */
#ifndef EBPROF_V8_DESCRIBE_H
#define EBPROF_V8_DESCRIBE_H

#include "bpf/v8_step.h"
#include "bpf/v8_text.h"

/* The script's name and what it is known by. 1 where all could be read. */
static __always_inline int v8_script(struct v8_env *env, struct v8_state *s,
				     const struct ebp_v8 *o, struct ebp_code *r,
				     struct ebp_v8_code *c)
{
	__u64 *words = s->code;

	c->script = v8_word(s->shared, o->shared_script);
	if (v8_object(env, words, c->script) || v8_type_of(env, s, words[0]) != o->script_type) {
		c->script = 0;
		return 1;
	}
	c->source = v8_word(words, o->script_source);
	if (v8_read(env, &c->script_id, sizeof(c->script_id), c->script - 1 + o->script_id + 4))
		return 0;
	/* What was compiled from a string has none. */
	v8_text(env, s, o, v8_word(words, o->script_name), &r->file, r->file_bytes,
		EBP_CODE_FILE - 1);
	return 1;
}

#define V8_TABLE (EBP_CODE_TABLE / 2)	/* bytes of positions that are sent */

/* The positions behind @c. Returns how many bytes there are. */
static __always_inline __u32 v8_positions(struct v8_env *env, struct v8_state *s,
					  const struct ebp_v8 *o, struct ebp_code *r, __u8 *to)
{
	__u32 field = s->kind == EBP_V8_INTERPRETED ? o->bytecode_table : o->code_table, type, n;
	__u64 table = 0;

	if (!s->code_at || v8_read(env, &table, sizeof(table), s->code_at - 1 + field) ||
	    !(table & 1) || v8_read(env, s->object, 16, table - 1))
		return 0;
	type = v8_type_of(env, s, s->object[0]);
	if (type != o->bytes_type && type != o->bytes_trusted_type)
		return 0;
	r->table = table - 1 + 16;
	r->table_bytes = s->object[1] >> 32;
	n = r->table_bytes < V8_TABLE ? r->table_bytes : V8_TABLE - 1;
	V8_OPAQUE(n);
	n &= V8_TABLE - 1;
	return v8_read(env, to, n, r->table) ? 0 : n;
}

#define V8_REGEXP	"[v8 regexp]"
#define V8_WASM		"[v8 wasm]"

/* Code that is no function's has no name of its own. */
static __always_inline int v8_describe_typed(const struct v8_state *s, const struct ebp_v8 *o,
					     struct ebp_code *r)
{
	r->version = o->version;
	if (s->kind == EBP_V8_WASM)
		__builtin_memcpy(r->name_bytes, V8_WASM, sizeof(V8_WASM));
	else
		__builtin_memcpy(r->name_bytes, V8_REGEXP, sizeof(V8_REGEXP));
	r->name.length = (s->kind == EBP_V8_WASM ? sizeof(V8_WASM) : sizeof(V8_REGEXP)) - 1;
	r->name.width = 1;
	return 1;
}

/* The function of @s into @r, which has its room behind it. 1 where all could be read. */
static __always_inline int v8_describe(struct v8_env *env, struct v8_state *s,
				       const struct ebp_v8 *o, struct ebp_code *r)
{
	struct ebp_v8_code *c = (void *)r->table_data;
	__u64 name = v8_word(s->shared, o->shared_name);
	int whole = 1;

	if (s->kind >= EBP_V8_REGEXP)
		return v8_describe_typed(s, o, r);
	__builtin_memset(c, 0, sizeof(*c));
	c->layout = *o;
	r->version = o->version;
	c->shared = s->shared_at;
	c->kind = s->kind;
	c->code = s->code_at;
	c->pc = s->pc;
	if (s->kind == EBP_V8_COMPILED)
		c->code_flags = v8_half(s->code, o->code_flags);
	r->head.n = sizeof(*c) + v8_positions(env, s, o, r, r->table_data + sizeof(*c));
	if (name & 1 && v8_string(env, s, o, name) == V8_NO_TYPE)
		name = v8_scope(env, s, o, name, c);
	if (!(name & 1))
		r->name.width = 1;
	else
		whole = !v8_text(env, s, o, name, &r->name, r->name_bytes, EBP_CODE_NAME - 1);
	return v8_script(env, s, o, r, c) && whole;
}

#endif
