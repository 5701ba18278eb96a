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

#include "bpf/python_step.h"

_Static_assert(sizeof(struct python_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct python_state *python_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* --- What a code object says of itself. ------------------------------------ */

#define UNICODE_KIND(state)	((state) >> 2 & 7)
#define UNICODE_COMPACT		0x20u
#define UNICODE_ASCII		0x40u

/*
 * The string object at @address into @dst, of which @mask + 1 bytes may be written. Objects that
 * are not compact, which only old extensions make, have none.
 */
static __always_inline void python_text(struct lang_walk *w, const struct ebp_python *o,
					__u64 address, struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u32 state = 0, bytes;

	t->length = t->width = 0;
	if (bpf_probe_read_user(w->header, sizeof(w->header), (void *)address) ||
	    w->header[1] != python_state_of(w)->bias + o->unicode_type ||
	    bpf_probe_read_user(&state, sizeof(state), (void *)(address + 32)) ||
	    !(state & UNICODE_COMPACT))
		return;
	address += state & UNICODE_ASCII ? o->ascii : o->compact;
	bytes = w->header[2] < mask ? w->header[2] * UNICODE_KIND(state) : mask;
	bytes = bytes < mask ? bytes : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (bpf_probe_read_user(dst, bytes, (void *)address))
		return;
	t->length = w->header[2] < 1u << 30 ? w->header[2] : 1u << 30;
	t->width = UNICODE_KIND(state);
}

/* The line table, a bytes object. Returns how much of it was read. */
static __always_inline __u32 python_table(struct lang_walk *w, struct ebp_code *r,
					  __u64 address)
{
	__u32 n;

	r->table = address + 32;
	r->table_bytes = 0;
	if (bpf_probe_read_user(w->header, sizeof(w->header), (void *)address))
		return 0;
	r->table_bytes = w->header[2] < 1u << 30 ? w->header[2] : 1u << 30;
	n = r->table_bytes < EBP_CODE_TABLE ? r->table_bytes : EBP_CODE_TABLE - 1;
	barrier_var(n);
	n &= EBP_CODE_TABLE - 1;
	return bpf_probe_read_user(r->table_data, n, (void *)(address + 32)) ? 0 : n;
}

/* 1 where all could be read. */
static __always_inline int python_describe(struct lang_walk *w, const struct ebp_python *o,
					   struct ebp_code *r)
{
	const struct python_state *s = python_state_of(w);

	r->version = o->minor;
	r->first_line = python_half(s->code_words, o->code_first_line, PYTHON_CODE_WORDS - 1);
	python_text(w, o, CODE_WORD(s, o->code_name), &r->name, r->name_bytes, EBP_CODE_NAME - 1);
	python_text(w, o, CODE_WORD(s, o->code_file), &r->file, r->file_bytes, EBP_CODE_FILE - 1);
	r->head.n = python_table(w, r, CODE_WORD(s, o->code_table));
	return r->name.width && r->file.width && r->head.n;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int python_announce(__u32 frame, __u32 done)
{
	struct lang_walk *w = this_walk();
	const struct ebp_python *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_PYTHON);
	if (!r)
		return LANG_END;
	w->pending |= code_send(w, r, python_describe(w, o, r)) << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* --- The walk. ------------------------------------------------------------- */

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

	if (!w || !u || !o || frame > EBP_WORDS_MAX || u->n >= EBP_WORDS_MAX - 1)
		return LANG_END;
	s = python_state_of(w);
	/* A subinterpreter's are paired with calls from the leaf: its callers are not there. */
	w->done = !s->frame && !s->unchecked && !s->partial;
	if (w->done)
		return LANG_END;
	step = python_step(NULL, s, o);
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
