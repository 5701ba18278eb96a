/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PHP's frames of the current task: a listed language (lang.bpf.h). */
#ifndef EBPROF_PHP_BPF_H
#define EBPROF_PHP_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/php.h"

struct php_env;

static __always_inline int php_read(struct php_env *env __attribute__((unused)), void *dst,
				    __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define PHP_READ_NEAR NEAR_READ

#include "bpf/php_describe.h"

_Static_assert(sizeof(struct php_state) <= 8 * WALK_WORDS, "room");

static __always_inline struct php_state *php_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int php_announce(__u32 frame, __u32 done)
{
	struct lang_walk *w = this_walk();
	const struct ebp_php *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_PHP);
	if (!r)
		return LANG_END;
	w->pending |= code_send(php_describe(walk_env(w), php_state_of(w), o, r)) << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* --- The walk. ----------------------------------------------------------------- */

/* One frame of this CPU's walk (LANG_*). @frame as in unwind_frame(). */
__noinline int php_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_php *o = w ? walk_layout(w) : NULL;
	struct php_state *s;
	__u64 id;

	if (!w || !u || !o || frame > EBP_WORDS_MAX || walk_is_full(u))
		return LANG_END;
	s = php_state_of(w);
	w->done = !s->frame && !s->waiting;
	if (w->done || php_step(walk_env(w), s, o))
		return LANG_END;
	if (!s->code)
		return LANG_ON;
	walk_flush(w, u);
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PHP, id, s->place);
	if (s->entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? LANG_ON : LANG_NEW;
}

/* The registers in which x86-64's interpreter has its frame and its instruction. */
#define PHP_FP	14
#define PHP_IP	15

/*
 * 0; negative: the current task runs no PHP. Without ZTS it is that of the thread in which the
 * interpreter was met, or the first one's. For the verifier a function of its own.
 */
__noinline int php_start(__u32 state)
{
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &state);
	const struct ebp_php *o = w ? walk_layout(w) : NULL;
	__u64 id = bpf_get_current_pid_tgid();

	if (!u || !o || (!o->keys && !u->loop_sp && (__u32)id != id >> 32))
		return -1;
	return php_begin(walk_env(w), php_state_of(w), o, u->lang_bias, thread_pointer(),
			 u->regs.r[PHP_FP], u->regs.r[PHP_IP]);
}

#endif
