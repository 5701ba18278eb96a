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

#include "bpf/v8_describe.h"
#include "bpf/v8_swap.h"

_Static_assert(sizeof(struct v8_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct v8_state *v8_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* A step in reading the name of this CPU's function, or (1) that of its file. */
__noinline int v8_text_here(__u32 file)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct ebp_code *r = bpf_map_lookup_elem(&code_records, &zero);
	const struct ebp_v8 *o = w ? walk_layout(w) : NULL;
	struct v8_state *s;

	if (!o || !r)
		return -1;
	s = v8_state_of(w);
	return file ? v8_text_step(NULL, s, o, &s->text, r->file_bytes, EBP_CODE_FILE - 1)
		    : v8_text_step(NULL, s, o, &s->text, r->name_bytes, EBP_CODE_NAME - 1);
}

static __always_inline int v8_text_hop(struct v8_env *env __attribute__((unused)),
				       struct v8_state *s __attribute__((unused)),
				       const struct ebp_v8 *o __attribute__((unused)),
				       struct v8_text *t __attribute__((unused)),
				       __u8 *dst __attribute__((unused)), __u32 mask)
{
	return v8_text_here(mask == EBP_CODE_FILE - 1);
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
	w->pending |= code_send(v8_describe(NULL, v8_state_of(w), o, r)) << EBP_CODE_SHIFT;
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
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_V8, id, s->place);
	return !id;
}

/*
 * The frame of this CPU's unwinder, if V8 is about to swap it for others (v8_swap.h): as of
 * v8_frame(), or negative, where v8_frame() is to look: by another frame pointer, perhaps.
 */
__noinline int v8_swapped(__u32 frame)
{
	__u32 zero = 0, field = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_v8 *o = w ? walk_layout(w) : NULL;
	struct v8_state *s;
	enum v8_swap swap;
	__u64 id;

	if (!w || !u || !o || frame > EBP_FRAMES_MAX || u->exact ||
	    (__s64)(u->fp - u->sp) > V8_SWAP_FRAME)
		return -1;
	s = v8_state_of(w);
	if (v8_read(NULL, s->code, V8_SWAP_CODE, u->pc))
		return -1;
	swap = v8_swap(s->code, &field);
	if (swap == V8_SWAP_BASELINE && !v8_read(NULL, s->words, sizeof(__u64), u->fp) &&
	    s->words[0] > u->fp)
		u->fp = s->words[0];
	if (swap != V8_SWAP_UNDONE || v8_undone(NULL, s, o, u->sp, field))
		return -1;
	u->pc = s->words[V8_CALLER_PC];
	u->sp = s->words[V8_CALLER_SP];
	u->fp = s->words[V8_CALLER_FP];
	u->by_fp = 0;
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_V8, id, s->place);
	return !id;
}

#endif
