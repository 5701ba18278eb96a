/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* LuaJIT's frames of the current task: a machine language (lang.bpf.h). */
#ifndef EBPROF_LUAJIT_BPF_H
#define EBPROF_LUAJIT_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/luajit.h"

struct luajit_env;

static __always_inline int luajit_read(struct luajit_env *env __attribute__((unused)), void *dst,
				       __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define LUAJIT_READ_NEAR NEAR_READ

#include "bpf/luajit_begin.h"
#include "bpf/luajit_describe.h"

_Static_assert(sizeof(struct luajit_state) + sizeof(struct luajit_naming) <= 8 * WALK_WORDS,
	       "room");

static __always_inline struct luajit_state *luajit_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

static __always_inline struct luajit_naming *luajit_naming_of(struct lang_walk *w)
{
	return (void *)(w->state + sizeof(struct luajit_state) / 8);
}

/* --- Where the frames begin. ---------------------------------------------------- */

/* Functions of their own for the verifier. */
__noinline int luajit_look_here(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	return o ? luajit_look_at(walk_env(w), luajit_state_of(w), o, i) : 0;
}

static __always_inline int luajit_look_round(struct luajit_env *env __attribute__((unused)),
					     struct luajit_state *s __attribute__((unused)),
					     const struct ebp_luajit *o __attribute__((unused)),
					     __u32 i)
{
	return luajit_look_here(i);
}

__noinline int luajit_search_here(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	return o ? luajit_search(walk_env(w), luajit_state_of(w), o, i) : 0;
}

static __always_inline int luajit_search_round(struct luajit_env *env __attribute__((unused)),
					       struct luajit_state *s __attribute__((unused)),
					       const struct ebp_luajit *o __attribute__((unused)),
					       __u32 i)
{
	return luajit_search_here(i);
}

__noinline int luajit_holds_here(__u64 base, __u64 pc)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	return o ? luajit_holds(walk_env(w), luajit_state_of(w), o, base, pc) : LUAJIT_NOTHING;
}

static __always_inline int luajit_holds_round(struct luajit_env *env __attribute__((unused)),
					      struct luajit_state *s __attribute__((unused)),
					      const struct ebp_luajit *o __attribute__((unused)),
					      __u64 base, __u64 pc)
{
	return luajit_holds_here(base, pc);
}

/*
 * Before luajit_start() and luajit_innermost(), beside them for the sake of BPF's stack: 0;
 * negative: what this CPU's unwinder is at is none of LuaJIT's. @frame as in unwind_frame().
 */
__noinline int luajit_prepare(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;
	struct luajit_state *s;

	if (!w || !u || !o || frame > EBP_FRAMES_MAX)
		return -1;
	s = luajit_state_of(w);
	if (!u->begun) {
		s->thread = s->cached = s->source = 0;
		near_forget(&w->near);
	}
	u->begun = 1;
	s->at.pc = u->pc;
	s->at.sp = u->sp;
	s->at.fp = u->fp;
	s->at.rdx = u->regs.r[1];
	s->at.rbx = u->regs.r[3];
	s->at.r14 = u->regs.r[14];
	s->at.r15 = u->regs.r[15];
	s->at.row = u->row.start;
	s->at.row_end = u->row.end;
	s->at.exact = u->exact;
	s->at.is_interpreter = u->pc - !u->exact - u->own < u->own_bytes;
	if (!s->at.is_interpreter && u->row.object != EBP_OBJECT_NONE)
		return -1;
	luajit_find(walk_env(w), s, o);
	return 0;
}

/* Before luajit_frame(); the same. */
__noinline int luajit_start(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	return o && frame <= EBP_FRAMES_MAX ? luajit_begin(walk_env(w), luajit_state_of(w), o) : -1;
}

/* The same, behind that. */
__noinline int luajit_innermost(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	if (!o || frame > EBP_FRAMES_MAX)
		return -1;
	luajit_first(walk_env(w), luajit_state_of(w), o);
	return 0;
}

/* --- What a function says of itself. ------------------------------------------- */

/* Functions of their own, too. */
__noinline int luajit_look_at_setter(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;

	return o ? luajit_setter(walk_env(w), luajit_state_of(w), o, luajit_naming_of(w), i) : 1;
}

/* The instructions that tell the frame's name, to the record; the string that may be it. */
__noinline int luajit_name(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct ebp_code *r = bpf_map_lookup_elem(&code_records, &zero);
	struct ebp_luajit_table *t;
	struct luajit_state *s;
	__u32 n;

	if (!w || !r || frame > EBP_WORDS_MAX)
		return 0;
	s = luajit_state_of(w);
	t = (void *)r->table_data;
	n = luajit_before(walk_env(w), s, luajit_naming_of(w));
	if (!n)
		return 0;
	t->call = s->caller.pc;
	t->nbefore = n;
	t->first = s->caller.pc + 1 - n;
	__builtin_memcpy(t + 1, s->words, EBP_LUAJIT_BEFORE * 4);
	for (__u32 i = 1; i < EBP_LUAJIT_BEFORE; i++)
		if (luajit_look_at_setter(i))
			break;
	return 1;
}

static __always_inline int luajit_text(const struct ebp_luajit *o, __u64 string,
				       struct ebp_text *t, __u8 *dst, __u32 size)
{
	long n = string ? bpf_probe_read_user_str(dst, size, (void *)(string + o->text)) : 0;

	if (n <= 0)
		return 0;
	t->length = n - 1;
	t->width = EBP_TEXT_UTF8;
	return 1;
}

/* 1 where all could be read. */
static __always_inline int luajit_describe(struct lang_walk *w, const struct ebp_luajit *o,
					   struct ebp_code *r)
{
	struct ebp_luajit_table *t = (void *)r->table_data;
	struct luajit_naming *n = luajit_naming_of(w);
	struct luajit_state *s = luajit_state_of(w);
	int whole = 1;

	if (n->name)
		whole = luajit_text(o, n->name, &r->name, r->name_bytes, sizeof(r->name_bytes));
	if (t->call != EBP_LUAJIT_NONE)
		luajit_names(walk_env(w), s, o, t, r->table_data + EBP_LUAJIT_NAMES_AT);
	t->is_lua = !!s->frame.proto;
	r->head.n = EBP_LUAJIT_LINES_AT;
	if (!s->frame.proto)
		return whole;
	r->first_line = s->frame.first_line;
	whole &= luajit_text(o, s->frame.source, &r->file, r->file_bytes, sizeof(r->file_bytes));
	luajit_lines(walk_env(w), s, o, t, r->table_data + EBP_LUAJIT_LINES_AT);
	r->head.n += t->lines_sent & EBP_LUAJIT_LINES;
	return whole;
}

/* Gives the last frame of this CPU's walk its id. @frame as in unwind_frame(). */
__noinline int luajit_announce(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;
	struct ebp_luajit_table *t;
	struct ebp_code *r;

	if (!o || frame > EBP_FRAMES_MAX)
		return 0;
	r = code_begin(w, EBP_LANGUAGE_LUAJIT);
	if (!r)
		return 0;
	t = (void *)r->table_data;
	*t = (struct ebp_luajit_table){ .call = EBP_LUAJIT_NONE };
	luajit_naming_of(w)->name = 0;
	luajit_name(frame);
	w->pending |= code_send(luajit_describe(w, o, r)) << EBP_CODE_SHIFT;
	return 0;
}

/* --- Frames. -------------------------------------------------------------------- */

/*
 * The next function of the frame of this CPU's unwinder, into w->pending; with the last one that is
 * left. 1: its code was not met before. @frame as in unwind_frame().
 */
__noinline int luajit_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_luajit *o = w ? walk_layout(w) : NULL;
	struct luajit_state *s;
	__u64 id = 0;

	if (!w || !u || !o || frame > EBP_FRAMES_MAX)
		return 0;
	s = luajit_state_of(w);
	u->asked = 0;
	luajit_step(walk_env(w), s, o);
	if (s->code) {
		id = code_id(s->identity);
		w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_LUAJIT, id, s->frame.pc);
		if (s->frame.is_trace)
			w->pending |= EBP_FRAME_TRACE;
	}
	if (s->bad && !s->code)
		w->pending = native_frame(u, u->pc - !u->exact);
	u->inside = !luajit_is_over(s);
	if (!u->inside) {
		u->pc = s->return_to;
		u->sp = s->c_frame + o->c_bytes;
		u->fp = s->caller_fp;
		u->exact = u->by_fp = 0;
	}
	return s->code && !id;
}

/* What a frame whose functions could not be read comes to. As of unwind_frame(). */
static __always_inline int luajit_result(struct lang_walk *w)
{
	return luajit_state_of(w)->bad ? STEP_DONE(EBP_UNREADABLE) : 0;
}

#endif
