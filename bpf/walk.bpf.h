/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The user stack of the current task: machine frames, among them those of languages whose frames
 * these are, and behind them those of a language that keeps a list.
 *
 * Each loop is a global function, which the verifier looks at once.
 */
#ifndef EBPROF_WALK_BPF_H
#define EBPROF_WALK_BPF_H

#include "bpf/hotspot.bpf.h"
#include "bpf/lang.bpf.h"
#include "bpf/lua.bpf.h"
#include "bpf/luajit.bpf.h"
#include "bpf/perl.bpf.h"
#include "bpf/php.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/ruby.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/v8.bpf.h"

#define ROUNDS 32

/* --- Machine frames. ----------------------------------------------------------- */

static __always_inline int v8_any_frame(__u32 frame)
{
	int fresh = v8_swapped(frame);

	return fresh < 0 ? v8_frame(frame) : fresh;
}

/* Each language's row: a frame, and what its code is, where that was not met before (1). */
static __always_inline int machine_look(const struct unwind_state *u, __u32 language, __u32 frame)
{
	switch (language) {
	case EBP_LANGUAGE_V8:
		return TAKES(V8) ? v8_any_frame(frame) : 0;
	case EBP_LANGUAGE_HOTSPOT:
		return TAKES(HOTSPOT) ? hotspot_frame(frame) : 0;
	case EBP_LANGUAGE_LUAJIT:
		if (!TAKES(LUAJIT))
			return 0;
		if (!u->inside &&
		    (luajit_prepare(frame) || luajit_start(frame) || luajit_innermost(frame)))
			return 0;
		return luajit_frame(frame);
	default:
		return 0;
	}
}

static __always_inline int machine_announce(__u32 language, __u32 frame)
{
	switch (language) {
	case EBP_LANGUAGE_V8:
		return TAKES(V8) ? v8_announce(frame) : 0;
	case EBP_LANGUAGE_HOTSPOT:
		return TAKES(HOTSPOT) ? hotspot_resolve(frame) : 0;
	case EBP_LANGUAGE_LUAJIT:
		return TAKES(LUAJIT) ? luajit_announce(frame) : 0;
	default:
		return 0;
	}
}

/* What it is becomes frames: one, where the language has no more to say. */
static __always_inline int machine_take(__u32 language, __u32 frame, struct lang_walk *w,
					struct unwind_state *u)
{
	if (TAKES(HOTSPOT) && language == EBP_LANGUAGE_HOTSPOT)
		return hotspot_take(frame);
	take_frame(u, w->pending);
	return TAKES(LUAJIT) && language == EBP_LANGUAGE_LUAJIT ? luajit_result(w) : 0;
}

/*
 * The frame in code made at run time, by the process's language. As of unwind_frame(); where it is
 * not the language's, nothing, and the next unwind_frame() takes it.
 */
__noinline int machine_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_layout *o;
	__u64 native, sp;
	int done;

	if (!w || !u || frame > EBP_FRAMES_MAX)
		return STEP_DONE(EBP_DEPTH);
	sp = u->sp;
	native = config.native ? native_frame(u, u->pc - !u->exact) : 0;
	w->layout = u->machine - 1;
	w->pending = 0;
	o = layout_at(w->layout);
	if (o && machine_look(u, o->language, frame))
		machine_announce(o->language, frame);
	if (!w->pending)
		return 0;
	done = machine_take(o ? o->language : EBP_LANGUAGE_NONE, frame, w, u);
	/* One machine frame may be of several functions of LuaJIT. */
	if (native && u->sp != sp)
		take_frame(u, native);
	w->pending = 0;
	u->asked = 0;
	u->made = 1;
	return done;
}

/* At most so many frames. */
__noinline int unwind_some(__u32 frame)
{
	for (__u32 i = 0; i < ROUNDS; i++) {
		int done = unwind_frame(frame + i);

		if (done == STEP_MACHINE)
			done = machine_frame(frame + i);
		if (done == STEP_GAP)
			done = unwind_gap(frame + i);
		if (done)
			return done;
	}
	return 0;
}

/*
 * All frames. Functions of their own, again for the verifier: whatever led here, each loop
 * is looked at once, for all its rounds: they have to be few, and short.
 */
__noinline int unwind_frames(__u32 mask)
{
	for (__u32 i = 0; i <= EBP_FRAMES_MAX; i += ROUNDS) {
		int done = unwind_some(i & mask);

		if (done)
			return done;
	}
	return STEP_DONE(EBP_DEPTH);
}

/* The same where no frame is a language's: what is not called is not loaded. */
__noinline int unwind_some_native(__u32 frame)
{
	for (__u32 i = 0; i < ROUNDS; i++) {
		int done = unwind_frame(frame + i);

		if (done == STEP_GAP)
			done = unwind_gap(frame + i);
		if (done)
			return done;
	}
	return 0;
}

__noinline int unwind_frames_native(__u32 mask)
{
	for (__u32 i = 0; i <= EBP_FRAMES_MAX; i += ROUNDS) {
		int done = unwind_some_native(i & mask);

		if (done)
			return done;
	}
	return STEP_DONE(EBP_DEPTH);
}

/*
 * Where the code is whose frame leads to the language's: unwinding takes down where it is. Or that
 * whose frames are a machine language's.
 */
static __always_inline void find_loop(struct unwind_state *s)
{
	const struct ebp_layout *o = layout_at(s->lang - 1);

	s->loop = o ? s->lang_bias + o->loop : 0;
	s->loop_bytes = o ? o->loop_bytes : 0;
	s->loop_sp = 0;
	s->language = o ? o->language : EBP_LANGUAGE_NONE;
	s->jump.from = 0;
	if (o && o->jump)
		ebp_layout_jump(o, s->lang_bias, &s->jump);
	o = layout_at(s->machine - 1);
	s->own = o ? s->machine_bias + o->loop : 0;
	s->own_bytes = o ? o->loop_bytes : 0;
}

/* Unwinds from s->regs; returns how it ended. @languages as of unwind_reset(). */
static __always_inline __u32 unwind_user(struct unwind_state *s, __u64 start, int languages)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	const struct ebp_space *space = bpf_map_lookup_elem(&spaces, &tgid);
	__u32 result;

	if (space && space->start && space->start != start)
		space = NULL;
	unwind_reset(s, space, languages);
	find_loop(s);
	if (!space) {
		take_frame(s, s->pc);
		return EBP_NO_PROCESS;
	}
	result = (languages ? unwind_frames(EBP_FRAMES_MAX)
			    : unwind_frames_native(EBP_FRAMES_MAX)) - 1;
	/* What was not unwound may have it near the leaf. */
	if (s->language == EBP_LANGUAGE_LUA && !s->loop_sp && result != EBP_COMPLETE)
		s->loop_sp = s->regs.r[REG_SP];
	return result;
}

/* --- Frames of a list. --------------------------------------------------------- */

/* Some frames, and what their code is: no branches but the end of each round. */
#define LIST_SOME(LANGUAGE, name, frame)                                              \
	if (!TAKES(LANGUAGE))                                                         \
		return LANG_END;                                                      \
	for (__u32 i = 0; i < ROUNDS; i++) {                                          \
		int done = name##_announce((frame) + i, name##_frame((frame) + i));   \
		if (done)                                                             \
			return done;                                                  \
	}

/*
 * Each language's row: a loop of its own, because in one over all the verifier would have to look
 * at the choice in each round; and where it begins.
 */
__noinline int list_some(__u32 frame, __u32 language)
{
	switch (language) {
	case EBP_LANGUAGE_PYTHON:
		LIST_SOME(PYTHON, python, frame);
		return LANG_ON;
	case EBP_LANGUAGE_RUBY:
		LIST_SOME(RUBY, ruby, frame);
		return LANG_ON;
	case EBP_LANGUAGE_PHP:
		LIST_SOME(PHP, php, frame);
		return LANG_ON;
	case EBP_LANGUAGE_PERL:
		LIST_SOME(PERL, perl, frame);
		return LANG_ON;
	case EBP_LANGUAGE_LUA:
		LIST_SOME(LUA, lua, frame);
		return LANG_ON;
	default:
		return LANG_END;
	}
}

static __always_inline int list_start(__u32 language)
{
	switch (language) {
	case EBP_LANGUAGE_PYTHON:
		return TAKES(PYTHON) ? python_start(0) : -1;
	case EBP_LANGUAGE_RUBY:
		return TAKES(RUBY) ? ruby_start(0) : -1;
	case EBP_LANGUAGE_PHP:
		return TAKES(PHP) ? php_start(0) : -1;
	case EBP_LANGUAGE_PERL:
		return TAKES(PERL) ? perl_start(0) : -1;
	case EBP_LANGUAGE_LUA:
		return TAKES(LUA) ? lua_start(0) : -1;
	default:
		return -1;
	}
}

static __always_inline void list_all(__u32 language)
{
	for (__u32 i = 0; i <= EBP_WORDS_MAX; i += ROUNDS)
		if (list_some(i, language))
			return;
}

/* How the list of the walk ends, which was not done: @full, it had no more room. */
static __always_inline __u32 list_result(const struct lang_walk *w, const struct unwind_state *u,
					 int full)
{
	if (full)
		return EBP_DEPTH;
	/* Where none was read the layout may not fit. */
	return w->whole && u->n > w->native ? EBP_UNREADABLE : EBP_COMPLETE;
}

/*
 * Puts the frames of the current task's interpreter behind those of this CPU's state, if it runs
 * one. Returns how they end (enum ebp_result). @bound is not looked at, as unwind_frame()'s; a
 * function, because the programs need their stack for what they unwind.
 */
__noinline __u32 list_frames(__u32 bound)
{
	struct lang_walk *w = this_walk();
	__u32 zero = 0, language, result;
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_layout *o;
	int full;

	if (!w || !u || !u->lang || bound > EBP_WORDS_MAX)
		return EBP_COMPLETE;
	w->layout = u->lang - 1;
	o = layout_at(w->layout);
	language = o ? o->language : EBP_LANGUAGE_NONE;
	w->whole = 0;
	near_forget(&w->near);
	if (list_start(language))
		return EBP_COMPLETE;
	w->pending = w->done = 0;
	w->native = u->n;
	w->hash = u->hash;
	if (TAKES(RUBY) && language == EBP_LANGUAGE_RUBY)
		ruby_announce(0, ruby_collector(0));
	list_all(language);
	full = walk_is_full(u);
	walk_flush(w, u);
	if (w->done && !u->apart)
		return EBP_COMPLETE;
	/* The calls of a context's callers are not there: so its list counts as one that is cut. */
	result = w->done ? EBP_COMPLETE : list_result(w, u, full);
	w->pending = EBP_FRAME_OF_CODE(language, EBP_CODE_NONE, EBP_PLACE_NONE);
	walk_flush(w, u);
	return result;
}

/* Before the frames: whose they are. @process_id: hash_process() of @process. */
static __always_inline void walk_process(const struct ebp_process *process, __u64 process_id)
{
	struct lang_walk *w = this_walk();

	if (!w)
		return;
	w->process = *process;
	w->process_id = process_id;
}

#endif
