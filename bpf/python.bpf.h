/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPython's frames of the current task: a listed language (lang.bpf.h). */
#ifndef EBPROF_PYTHON_BPF_H
#define EBPROF_PYTHON_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/python.h"

struct python_env;

static __always_inline int python_read(struct python_env *env __attribute__((unused)), void *dst,
				       __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define PYTHON_AWAIT(o) (config.await && (o)->running_task)

#include "bpf/python_describe.h"

_Static_assert(sizeof(struct python_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct python_state *python_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* --- The walk. ------------------------------------------------------------- */

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int python_announce(__u32 frame, __u32 done)
{
	const struct ebp_python *o;
	struct lang_walk *w;
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	w = this_walk();
	o = w ? walk_layout(w) : NULL;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_PYTHON);
	if (!r)
		return LANG_END;
	w->pending |= code_send(w, r, python_describe(NULL, python_state_of(w), o, r))
		      << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* To the next frame of tasks that await the one that runs. @frame as in unwind_frame(). */
__noinline int python_await(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_python *o = w ? walk_layout(w) : NULL;
	struct python_state *s;

	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	s = python_state_of(w);
	s->frame = python_await_next(NULL, &s->await, o, s->bias);
	return LANG_ON;
}

/* One frame of this CPU's walk (LANG_*). @frame as in unwind_frame(). */
__noinline int python_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_python *o = w ? walk_layout(w) : NULL;
	struct python_state *s;
	__u64 id;
	int step;

	if (!w || !u || !o || frame > EBP_WORDS_MAX || walk_is_full(u))
		return LANG_END;
	s = python_state_of(w);
	/* A subinterpreter's are paired with calls from the leaf: its callers are not there. */
	w->done = !s->frame && !s->unchecked && !s->partial;
	if (w->done)
		return LANG_END;
	step = python_step(NULL, s, o);
	if (step < 0)
		return LANG_END;
	if (config.await && s->await.on)
		python_await(frame);
	if (step == PYTHON_AGAIN) {
		walk_again(w, u);
		return LANG_ON;
	}
	if (!s->code) {
		if (s->entry)
			walk_entry(w, u, EBP_LANGUAGE_PYTHON);
		return LANG_ON;
	}
	walk_flush(w, u);
	id = code_id(w, s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, id, s->place);
	if (s->entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? LANG_ON : LANG_NEW;
}

/* 0; negative: the current task runs no Python. For the verifier a function of its own. */
__noinline int python_start(__u32 state)
{
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &state);
	const struct ebp_python *o = w ? walk_layout(w) : NULL;

	if (!u || !o)
		return -1;
	return python_begin(NULL, python_state_of(w), o, u->lang_bias, thread_pointer());
}

#endif
