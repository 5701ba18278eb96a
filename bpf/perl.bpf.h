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

static __always_inline int perl_read_text(struct perl_env *env __attribute__((unused)), void *dst,
					  __u32 size, __u64 address)
{
	return bpf_probe_read_user_str(dst, size, (void *)address);
}

#include "bpf/perl_step.h"

_Static_assert(sizeof(struct perl_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct perl_state *perl_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* --- What a sub says of itself. ------------------------------------------------ */

/* Of a HEK: a hash, the length, the text, and behind that a zero and flags. */
#define PERL_HEK_LENGTH	4
#define PERL_HEK_TEXT	8
#define PERL_HEK_UTF8	1

/* The HEK at @address into @dst, of which @mask + 1 bytes may be written. 1: it is there. */
static __always_inline int perl_text(__u64 address, struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u32 length = 0, bytes;
	__u8 flags = 0;

	if (bpf_probe_read_user(&length, sizeof(length), (void *)(address + PERL_HEK_LENGTH)) ||
	    length >= 1u << 30)
		return 0;
	bytes = length < mask ? length : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (bpf_probe_read_user(dst, bytes, (void *)(address + PERL_HEK_TEXT)) ||
	    bpf_probe_read_user(&flags, sizeof(flags),
				(void *)(address + PERL_HEK_TEXT + length + 1)))
		return 0;
	t->length = length;
	t->width = flags & PERL_HEK_UTF8 ? EBP_TEXT_UTF8 : 1;
	return 1;
}

/* The HEK that has the name of the package @stash; 0: it has none. */
static __always_inline __u64 perl_package(const struct ebp_perl *o, __u64 stash)
{
	__u64 aux = 0, name = 0, last = 0, array = 0;
	__u32 names = 0;

	bpf_probe_read_user(&aux, sizeof(aux), (void *)stash);
	bpf_probe_read_user(&last, sizeof(last), (void *)(aux + PERL_HV_LAST));
	bpf_probe_read_user(&array, sizeof(array), (void *)(stash + PERL_HV_ARRAY));
	aux = o->aux_behind ? array + (last + 1) * sizeof(__u64) : aux + PERL_HV_AUX;
	if (bpf_probe_read_user(&name, sizeof(name), (void *)(aux + PERL_AUX_NAME)) ||
	    bpf_probe_read_user(&names, sizeof(names), (void *)(aux + PERL_AUX_NAMES)) ||
	    (names && bpf_probe_read_user(&name, sizeof(name), (void *)name)))
		return 0;
	return name;
}

/* The line of the first statement of the sub in s->body; 0: it has none. */
static __always_inline __u32 perl_first_line(struct perl_state *s, const struct ebp_perl *o)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word),
			    (void *)(s->body[PERL_CV_START] + PERL_COP_TYPE));
	return (word & 511) == o->op_state ? word >> 32 : 0;
}

/* 1 where all could be read. */
static __always_inline int perl_describe(struct perl_state *s, const struct ebp_perl *o,
					 struct ebp_code *r)
{
	int whole = 1;
	long n;

	r->version = o->version;
	/* What is no sub's has a name that is empty. */
	r->name.width = EBP_TEXT_UTF8;
	if (s->code > PERL_CODE_EVAL) {
		__u64 package = s->stash ? perl_package(o, s->stash) : 0;

		if (s->name)
			whole &= perl_text(s->name, &r->name, r->name_bytes,
					   EBP_CODE_NAME - 1);
		if (package)
			whole &= perl_text(package, &r->scope, r->scope_bytes,
					   EBP_CODE_SCOPE - 1);
		r->first_line = perl_first_line(s, o);
	} else if (s->code == PERL_CODE_FILE) {
		r->table = EBP_PERL_FILE;
	}
	n = bpf_probe_read_user_str(r->file_bytes, sizeof(r->file_bytes), (void *)s->file);
	if (n <= 0)
		return 0;
	r->file.length = n - 1;
	r->file.width = EBP_TEXT_UTF8;
	return whole;
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
	w->pending |= code_send(w, r, perl_describe(perl_state_of(w), o, r)) << EBP_CODE_SHIFT;
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
	if (perl_step(NULL, s, o))
		return LANG_END;
	if (s->not_entry)
		w->pending &= ~EBP_FRAME_ENTRY;
	if (!s->code) {
		if (s->entry)
			walk_entry(w, u, EBP_LANGUAGE_PERL);
		return LANG_ON;
	}
	walk_flush(w, u);
	id = code_id(w, s->identity);
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
	return perl_begin(NULL, perl_state_of(w), o, u->lang_bias, thread_pointer());
}

#endif
