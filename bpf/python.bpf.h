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

#define PYTHON_READ_NEAR NEAR_READ

#define PYTHON_AWAIT(o) (config.await && (o)->running_task)

struct python_state;

static __always_inline __u64 python_known(struct python_state *s, const struct ebp_python *o);

#define PYTHON_KNOWN(env, s, o) python_known(s, o)

#include "bpf/python_describe.h"

_Static_assert(sizeof(struct python_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct python_state *python_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/*
 * --- Code that this CPU has met. ---
 *
 * So a code object is read once in a stack, however often it is there, and of those that other
 * stacks had four bytes.
 */

#define PYTHON_SETS	256	/* of two each, a power of two */

struct python_met {
	__u64 code;
	__u64 process_id;
	__u64 id;
	__u64 walk;		/* the last one that found it to be the same */
	__u32 version;		/* ebp_python.code_version; 0: it says nothing */
	__u32 slot;		/* code_is_in() */
};

struct python_known {
	__u64 walks;		/* this one is the last of */
	struct python_met met[PYTHON_SETS][2];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_known);
} python_knowns SEC(".maps");

static __always_inline struct python_known *this_known(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&python_knowns, &zero);
}

/* Where the code at @address would be: this one or the next. */
static __always_inline struct python_met *python_set(struct python_known *k, __u64 address)
{
	return k->met[hash_step(0, address) & (PYTHON_SETS - 1)];
}

/*
 * The id of the code at s->code, if it is what was there last time: its frames hold it, so it is
 * throughout a walk, and from one to another where it has the same number. Those of
 * subinterpreters begin anew with each.
 */
static __always_inline __u64 python_known(struct python_state *s, const struct ebp_python *o)
{
	struct lang_walk *w = this_walk();
	struct python_known *k = this_known();
	struct python_met *m;
	__u32 version = 0;

	if (!w || !k)
		return 0;
	m = python_set(k, s->code);
	m += m->code != s->code;
	if (m->code != s->code || m->process_id != w->process_id)
		return 0;
	if (m->walk != k->walks) {
		if (!m->version || s->partial ||
		    NEAR_READ(&w->near, version, sizeof(version), s->code + o->code_version) ||
		    version != m->version)
			return 0;
		m->walk = k->walks;
	}
	return code_is_in(m->id, m->slot) ? m->id : 0;
}

/* The code that was read last has @id. */
static __always_inline void python_remember(struct lang_walk *w, struct python_state *s,
					    const struct ebp_python *o, __u64 id)
{
	struct python_known *k = this_known();
	struct python_met *m;

	if (!k)
		return;
	s->known = id;
	/* The first one stays where it is needed in this walk. */
	m = python_set(k, s->code);
	m += m->code != s->code && m->walk == k->walks;
	m->code = s->code;
	m->process_id = w->process_id;
	m->id = id;
	m->walk = k->walks;
	m->version = 0;
	if (o->code_version)
		m->version = python_half(s->code_words, o->code_version, PYTHON_CODE_WORDS - 1);
	m->slot = w->slot;
}

/* --- The walk. ------------------------------------------------------------- */

/* To the next frame of tasks that await the one that runs, if it is their turn. */
__noinline int python_await(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_python *o = w ? walk_layout(w) : NULL;
	struct python_state *s;

	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	s = python_state_of(w);
	if (s->await.on)
		s->frame = python_await_next(NULL, &s->await, o, s->bias);
	return LANG_ON;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int python_announce(__u32 frame, __u32 done)
{
	const struct ebp_python *o;
	struct lang_walk *w;
	struct ebp_code *r;

	if (config.await && done != LANG_END)
		python_await(frame);
	if (done != LANG_NEW)
		return done;
	w = this_walk();
	o = w ? walk_layout(w) : NULL;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_PYTHON);
	if (!r)
		return LANG_END;
	w->pending |= code_send(python_describe(walk_env(w), python_state_of(w), o, r))
		      << EBP_CODE_SHIFT;
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
	step = python_step(walk_env(w), s, o);
	if (step < 0)
		return LANG_END;
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
	id = s->known;
	if (!id) {
		id = code_id(s->identity);
		if (id)
			python_remember(w, s, o, id);
	}
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
	struct python_known *k = this_known();
	int err;

	if (!u || !o || !k)
		return -1;
	k->walks++;
	err = python_begin(walk_env(w), python_state_of(w), o, u->lang_bias, thread_pointer());
	w->whole = !python_state_of(w)->partial;
	return err;
}

#endif
