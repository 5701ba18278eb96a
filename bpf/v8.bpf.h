/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* V8's frames of the current task: a machine language (lang.bpf.h). */
#ifndef EBPROF_V8_BPF_H
#define EBPROF_V8_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/v8.h"

struct v8_env;

static __always_inline int v8_read(struct v8_env *env __attribute__((unused)), void *dst,
				   __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define V8_OPAQUE(x) barrier_var(x)

#include "bpf/v8_step.h"
#include "bpf/v8_text.h"

_Static_assert(sizeof(struct v8_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct v8_state *v8_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* --- What a function says of itself. ------------------------------------------- */

/* The script's name and what it is known by. 1 where all could be read. */
static __always_inline int v8_script(struct v8_state *s, const struct ebp_v8 *o, struct ebp_code *r,
				     struct ebp_v8_code *c)
{
	__u64 *words = s->code;

	c->script = v8_word(s->shared, o->shared_script);
	if (v8_object(NULL, words, c->script) || v8_type_of(NULL, s, words[0]) != o->script_type) {
		c->script = 0;
		return 1;
	}
	c->source = v8_word(words, o->script_source);
	if (bpf_probe_read_user(&c->script_id, sizeof(c->script_id),
				(void *)(c->script - 1 + o->script_id + 4)))
		return 0;
	/* What was compiled from a string has none. */
	v8_text(NULL, s, o, v8_word(words, o->script_name), &r->file, r->file_bytes,
		EBP_CODE_FILE - 1);
	return 1;
}

#define V8_TABLE (EBP_CODE_TABLE / 2)	/* bytes of positions that are sent */

/* The positions behind @c. Returns how many bytes there are. */
static __always_inline __u32 v8_positions(struct v8_state *s, const struct ebp_v8 *o,
					  struct ebp_code *r, __u8 *to)
{
	__u64 table = 0;
	__u32 type, n;

	if (!s->code_at ||
	    bpf_probe_read_user(&table, sizeof(table),
				(void *)(s->code_at - 1 + (s->kind == EBP_V8_INTERPRETED
								   ? o->bytecode_table
								   : o->code_table))) ||
	    !(table & 1) || bpf_probe_read_user(s->object, 16, (void *)(table - 1)))
		return 0;
	type = v8_type_of(NULL, s, s->object[0]);
	if (type != o->bytes_type && type != o->bytes_trusted_type)
		return 0;
	r->table = table - 1 + 16;
	r->table_bytes = s->object[1] >> 32;
	n = r->table_bytes < V8_TABLE ? r->table_bytes : V8_TABLE - 1;
	barrier_var(n);
	n &= V8_TABLE - 1;
	return bpf_probe_read_user(to, n, (void *)r->table) ? 0 : n;
}

/* 1 where all could be read. */
static __always_inline int v8_describe(struct v8_state *s, const struct ebp_v8 *o,
				       struct ebp_code *r)
{
	struct ebp_v8_code *c = (void *)r->table_data;
	__u64 name = v8_word(s->shared, o->shared_name);
	int whole = 1;

	__builtin_memset(c, 0, sizeof(*c));
	r->version = o->version;
	c->shared = s->shared_at;
	c->kind = s->kind;
	c->code = s->code_at;
	if (name & 1 && v8_string(NULL, s, o, name) == V8_NO_TYPE)
		name = v8_scope(NULL, s, o, name, c);
	if (!(name & 1))
		r->name.width = 1;
	else
		whole = !v8_text(NULL, s, o, name, &r->name, r->name_bytes, EBP_CODE_NAME - 1);
	r->head.n = sizeof(*c) + v8_positions(s, o, r, r->table_data + sizeof(*c));
	return v8_script(s, o, r, c) && whole;
}

/* Gives the last frame of this CPU's walk its id. @frame as in unwind_frame(). */
__noinline int v8_announce(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_v8 *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r;

	if (!o || frame > EBP_WORDS_MAX)
		return 0;
	r = code_begin(w, EBP_LANGUAGE_V8);
	if (!r)
		return 0;
	w->pending |= code_send(w, r, v8_describe(v8_state_of(w), o, r)) << EBP_CODE_SHIFT;
	return 0;
}

/* --- The frame. ---------------------------------------------------------------- */

/* Where the thread's isolate is, for layouts that need it; 0: not known. */
static __always_inline __u64 v8_isolate(const struct ebp_v8 *o)
{
	__u64 isolate = 0;

	if (!o->isolate ||
	    bpf_probe_read_user(&isolate, sizeof(isolate), (void *)(thread_pointer() + o->isolate)))
		return 0;
	return isolate;
}

/* To the caller of the frame in @s. 0; negative: there is none. */
static __always_inline int v8_leave(struct unwind_state *u, const struct v8_state *s)
{
	if (u->fp < u->sp || s->words[V8_CALLER_FP] <= u->fp || !s->words[V8_CALLER_PC])
		return -1;
	u->pc = s->words[V8_CALLER_PC];
	u->sp = u->fp + 16;
	u->fp = s->words[V8_CALLER_FP];
	u->exact = u->by_fp = 0;
	return 0;
}

/*
 * The frame of this CPU's unwinder, if it is of a function of a script: into w->pending, and left.
 * 1: its code was not met before. @frame as in unwind_frame().
 */
__noinline int v8_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_v8 *o = w ? walk_layout(w) : NULL;
	struct v8_state *s;
	__u64 id, at;

	if (!w || !u || !o || frame > EBP_FRAMES_MAX)
		return 0;
	s = v8_state_of(w);
	at = u->pc - !u->exact;
	if (v8_look(NULL, s, o, v8_isolate(o), u->fp, at, u->row.object == EBP_OBJECT_NONE) ||
	    v8_leave(u, s))
		return 0;
	id = code_id(w, s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_V8, id, s->place);
	return !id;
}

#endif
