/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CRuby's frames of the current task: a listed language (lang.bpf.h). */
#ifndef EBPROF_RUBY_BPF_H
#define EBPROF_RUBY_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/ruby.h"

struct ruby_env;

static __always_inline int ruby_read(struct ruby_env *env __attribute__((unused)), void *dst,
				     __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define RUBY_READ_NEAR NEAR_READ

#include "bpf/ruby_describe.h"

_Static_assert(sizeof(struct ruby_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct ruby_state *ruby_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/* --- What code says of itself. ------------------------------------------------- */

static __always_inline struct ebp_code *ruby_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&code_records, &zero);
}

/* The string object of text @i of the record of this CPU. Functions of their own, all of these. */
__noinline int ruby_object(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;

	if (!o)
		return 0;
	if (i == RUBY_NAME)
		ruby_name_object(walk_env(w), ruby_state_of(w), o);
	else
		ruby_file_object(walk_env(w), ruby_state_of(w));
	return 0;
}

__noinline int ruby_class(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;

	return o && i == RUBY_SCOPE ? ruby_owner(walk_env(w), ruby_state_of(w), o) : 0;
}

__noinline int ruby_scope(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;

	if (o && i == RUBY_SCOPE)
		ruby_class_name(walk_env(w), ruby_state_of(w), o);
	return 0;
}

/* That object as the text. */
__noinline int ruby_put_text(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;
	struct code_record *r = (void *)ruby_record();

	if (o && r && i < RUBY_TEXTS)
		ruby_text(walk_env(w), ruby_state_of(w), o, (void *)r, i);
	return 0;
}

__noinline int ruby_put_table(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r = ruby_record();

	if (!o || !r || frame > EBP_WORDS_MAX)
		return 0;
	ruby_begin_table(o, r);
	ruby_table(walk_env(w), ruby_state_of(w), o, r);
	return 0;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int ruby_announce(__u32 frame, __u32 done)
{
	struct lang_walk *w = this_walk();
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	if (!w || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_RUBY);
	if (!r)
		return LANG_END;
	if (ruby_state_of(w)->identity == RUBY_COLLECTOR) {
		ruby_describe_collector(r);
		w->pending |= code_send(1) << EBP_CODE_SHIFT;
		return LANG_ON;
	}
	ruby_put_table(frame);
	ruby_object(RUBY_NAME);
	ruby_put_text(RUBY_NAME);
	ruby_table_of(r)->singleton = ruby_class(RUBY_SCOPE);
	ruby_scope(RUBY_SCOPE);
	ruby_put_text(RUBY_SCOPE);
	ruby_object(RUBY_FILE);
	ruby_put_text(RUBY_FILE);
	w->pending |= code_send(ruby_is_whole(ruby_state_of(w), r)) << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* --- The walk. ----------------------------------------------------------------- */

/* Towards the method that the last frame belongs to. 1: it is not there yet. */
__noinline int ruby_hop_here(__u32 frame)
{
	struct lang_walk *w = this_walk();

	return w && frame <= EBP_WORDS_MAX ? ruby_hop(walk_env(w), ruby_state_of(w)) : 0;
}

/* The next frame of this CPU's walk, and its code. 0; negative: there is none. */
__noinline int ruby_next(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;
	struct ruby_state *s;

	if (!o || frame > EBP_WORDS_MAX)
		return -1;
	s = ruby_state_of(w);
	if (ruby_step(walk_env(w), s, o))
		return -1;
	ruby_code(walk_env(w), s);
	return 0;
}

/* The last frame of the walk as one of the stack (LANG_*). */
static __always_inline int ruby_take(struct lang_walk *w, struct unwind_state *u)
{
	struct ruby_state *s = ruby_state_of(w);
	__u64 id = EBP_CODE_UNNAMED;

	ruby_of_method(s);
	if (!s->identity && !s->has_code)
		return LANG_ON;
	walk_flush(w, u);
	if (s->identity)
		id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_RUBY, id, s->place);
	if (s->entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? LANG_ON : LANG_NEW;
}

/* Before the first frame: that the collector runs, if it does (LANG_*). */
__noinline int ruby_collector(__u32 frame)
{
	struct lang_walk *w = this_walk();
	struct ruby_state *s;
	__u64 id;

	if (!w || frame > EBP_WORDS_MAX)
		return LANG_ON;
	s = ruby_state_of(w);
	if (!s->collects)
		return LANG_ON;
	s->identity = RUBY_COLLECTOR;
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_RUBY, id, EBP_PLACE_COLLECTS);
	return id ? LANG_ON : LANG_NEW;
}

/* One frame of this CPU's walk (LANG_*). @frame as in unwind_frame(). */
__noinline int ruby_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	struct ruby_state *s;

	if (!w || !u || frame > EBP_WORDS_MAX || walk_is_full(u))
		return LANG_END;
	s = ruby_state_of(w);
	w->done = s->frame >= s->end;
	if (w->done || ruby_next(frame))
		return LANG_END;
	for (__u32 i = 0; i < RUBY_HOPS; i++)
		if (!ruby_hop_here(frame))
			break;
	return ruby_take(w, u);
}

/* 0; negative: the current task runs no Ruby. @frame as in unwind_frame(). */
__noinline int ruby_start(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_ruby *o = w ? walk_layout(w) : NULL;

	if (!o || !u || frame > EBP_WORDS_MAX)
		return -1;
	return ruby_begin(walk_env(w), ruby_state_of(w), o, u->lang_bias, thread_pointer());
}

#endif
