/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Perl's frames of the current task: a listed language (lang.bpf.h). */
#ifndef EBPROF_PERL_BPF_H
#define EBPROF_PERL_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/perl.h"

struct perl_env;

static __always_inline int perl_read(struct perl_env *env __attribute__((unused)), void *dst,
				     __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define PERL_READ_NEAR NEAR_READ

static __always_inline int perl_read_text(struct perl_env *env __attribute__((unused)), void *dst,
					  __u32 size, __u64 address)
{
	return bpf_probe_read_user_str(dst, size, (void *)address);
}

#include "bpf/perl_describe.h"

_Static_assert(sizeof(struct perl_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct perl_state *perl_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int perl_announce(__u32 frame, __u32 done)
{
	struct lang_walk *w = this_walk();
	const struct ebp_perl *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_PERL);
	if (!r)
		return LANG_END;
	w->pending |= code_send(perl_describe(walk_env(w), perl_state_of(w), o, r))
		      << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* --- The walk. ----------------------------------------------------------------- */

/*
 * The end of the list. Where the program's own code does not run, a block that C has around the
 * outermost call, to know of errors, is nobody's.
 */
static __always_inline int perl_end(struct lang_walk *w)
{
	w->done = 1;
	if (!(w->pending & EBP_FRAME_ENTRY))
		w->pending = 0;
	return LANG_END;
}

/* One context of this CPU's walk (LANG_*). @frame as in unwind_frame(). */
__noinline int perl_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_perl *o = w ? walk_layout(w) : NULL;
	struct perl_state *s;
	__u64 id;

	if (!w || !u || !o || frame > EBP_WORDS_MAX || u->n >= EBP_WORDS_MAX - 1)
		return LANG_END;
	s = perl_state_of(w);
	if (s->ended)
		return perl_end(w);
	if (perl_step(walk_env(w), s, o))
		return LANG_END;
	if (s->not_entry)
		w->pending &= ~EBP_FRAME_ENTRY;
	if (!s->code) {
		if (s->entry)
			walk_entry(w, u, EBP_LANGUAGE_PERL);
		return LANG_ON;
	}
	walk_flush(w, u);
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PERL, id, s->place);
	if (s->entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? LANG_ON : LANG_NEW;
}

/* 0; negative: the current task runs no Perl. For the verifier a function of its own. */
__noinline int perl_start(__u32 state)
{
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &state);
	const struct ebp_perl *o = w ? walk_layout(w) : NULL;

	if (!u || !o)
		return -1;
	return perl_begin(walk_env(w), perl_state_of(w), o, u->lang_bias, thread_pointer());
}

#endif
