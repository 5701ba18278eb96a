/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lua's frames of the current task: a listed language (lang.bpf.h). */
#ifndef EBPROF_LUA_BPF_H
#define EBPROF_LUA_BPF_H

#include "bpf/lang.bpf.h"
#include "bpf/lua.h"

struct lua_env;

static __always_inline int lua_read(struct lua_env *env __attribute__((unused)), void *dst,
				    __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#define LUA_READ_NEAR NEAR_READ

#include "bpf/lua_describe.h"

_Static_assert(sizeof(struct lua_state) + sizeof(struct lua_naming) <= 8 * WALK_WORDS, "room");

static __always_inline struct lua_state *lua_state_of(struct lang_walk *w)
{
	return (void *)w->state;
}

static __always_inline struct lua_naming *lua_naming_of(struct lang_walk *w)
{
	return (void *)(w->state + sizeof(struct lua_state) / 8);
}

/* --- What a function says of itself. ------------------------------------------- */

/*
 * Functions of their own for the verifier, all of these, and what loops do, too. Local variable @i
 * of the caller: 1 where there is no more to be done.
 */
__noinline int lua_look_at_local(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;

	return o ? lua_local(walk_env(w), lua_state_of(w), o, lua_naming_of(w), i) : 1;
}

/* The name of the local variable in register @reg. 1: it is there. */
__noinline int lua_name_local(__u32 reg)
{
	struct lang_walk *w = this_walk();
	struct lua_naming *n;

	if (!w)
		return 0;
	n = lua_naming_of(w);
	n->left = reg + 1;
	for (__u32 i = 0; i < LUA_LOCALS; i++)
		if (lua_look_at_local(i))
			break;
	return n->kind == EBP_LUA_NAMED;
}

/* Instruction @i before the call; as lua_look_at_local(). */
__noinline int lua_look_at_setter(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;

	return o ? lua_setter(lua_state_of(w), o, lua_naming_of(w), i) : 1;
}

__noinline int lua_find_setter(__u32 reg)
{
	struct lang_walk *w = this_walk();

	if (!w || lua_before(walk_env(w), lua_state_of(w), lua_naming_of(w), reg))
		return 0;
	for (__u32 i = 0; i < LUA_BEFORE; i++)
		if (lua_look_at_setter(i))
			break;
	return 0;
}

__noinline int lua_name_fetched(__u32 reg)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	struct lua_naming *n;
	__u32 x;

	if (!o)
		return 0;
	n = lua_naming_of(w);
	x = n->instruction;
	if (x == EBP_LUA_NO_CALL || lua_op(o, x) != o->ops[EBP_LUA_MOVE])
		lua_fetched(walk_env(w), lua_state_of(w), o, n);
	else if (lua_b(o, x) < reg)
		lua_name_local(lua_b(o, x));
	return 0;
}

/* The name that the caller has for the frame. Returns the instruction that called it. */
__noinline __u32 lua_name(__u32 frame)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	__u32 instruction;
	int reg;

	if (!o || frame > EBP_WORDS_MAX)
		return EBP_LUA_NO_CALL;
	*lua_naming_of(w) = (struct lua_naming){};
	instruction = lua_instruction(walk_env(w), lua_state_of(w));
	reg = lua_called(o, instruction);
	if (reg < 0 || lua_name_local(reg))
		return instruction;
	lua_find_setter(reg);
	lua_name_fetched(reg);
	return instruction;
}

/* The string's object @name into @dst, of @size bytes. 1: it is there. */
static __always_inline int lua_text(__u64 name, struct ebp_text *t, __u8 *dst, __u32 size)
{
	__u64 text = lua_string(NULL, name);
	long n = text ? bpf_probe_read_user_str(dst, size, (void *)text) : 0;

	if (n <= 0)
		return 0;
	t->length = n - 1;
	t->width = EBP_TEXT_UTF8;
	return 1;
}

/* 1 where all could be read. */
static __always_inline int lua_describe(struct lang_walk *w, const struct ebp_lua *o,
					struct ebp_code *r)
{
	struct ebp_lua_table *t = (void *)r->table_data;
	struct lua_naming *n = lua_naming_of(w);
	struct lua_state *s = lua_state_of(w);
	int whole = 1;

	r->version = o->version;
	if (n->kind == EBP_LUA_NAMED)
		whole = lua_text(n->name, &r->name, r->name_bytes, sizeof(r->name_bytes));
	t->name = n->kind;
	t->is_lua = !!s->frame.proto;
	r->head.n = sizeof(*t);
	if (!s->frame.proto)
		return whole;
	r->first_line = s->frame.first_line;
	whole &= lua_text(s->frame.source, &r->file, r->file_bytes, sizeof(r->file_bytes));
	lua_table(walk_env(w), s, o, t, r->table_data + sizeof(*t));
	r->head.n = sizeof(*t) + EBP_LUA_FAR_BYTES + (t->sent & EBP_LUA_LINE_BYTES);
	return whole;
}

/*
 * Gives the last frame of this CPU's walk its id, where that is LANG_NEW. What is so then, @done
 * else. @frame as in unwind_frame().
 */
__noinline int lua_announce(__u32 frame, __u32 done)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	struct ebp_lua_table *t;
	struct ebp_code *r;

	if (done != LANG_NEW)
		return done;
	if (!o || frame > EBP_WORDS_MAX)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_LUA);
	if (!r)
		return LANG_END;
	t = (void *)r->table_data;
	*t = (struct ebp_lua_table){};
	t->call = lua_name(frame);
	w->pending |= code_send(lua_describe(w, o, r)) << EBP_CODE_SHIFT;
	return LANG_ON;
}

/* --- The walk. ----------------------------------------------------------------- */

/* One call of this CPU's walk (LANG_*). @frame as in unwind_frame(). */
__noinline int lua_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	struct lua_state *s;
	__u64 id;

	if (!w || !u || !o || frame > EBP_WORDS_MAX || walk_is_full(u))
		return LANG_END;
	s = lua_state_of(w);
	if (s->ended) {
		w->done = s->whole;
		return LANG_END;
	}
	if (lua_step(walk_env(w), s, o))
		return LANG_END;
	if (!s->code)
		return LANG_ON;
	walk_flush(w, u);
	id = code_id(s->identity);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_LUA, id, s->frame.pc);
	if (s->entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? LANG_ON : LANG_NEW;
}

/* Whether word @i of those that were read is a thread. */
__noinline int lua_look_at_word(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	struct lua_state *s;

	if (!o)
		return 0;
	s = lua_state_of(w);
	return lua_look_at(walk_env(w), s, o, s->words[i & (LUA_CHUNK - 1)]);
}

/* The words from @stack on: 1 where one of them was a thread. */
__noinline int lua_search(__u64 stack)
{
	struct lang_walk *w = this_walk();

	if (!w || lua_read(walk_env(w), lua_state_of(w)->words, LUA_CHUNK * sizeof(__u64), stack))
		return 0;
	for (__u32 i = 0; i < LUA_CHUNK; i++)
		if (lua_look_at_word(i))
			return 1;
	return 0;
}

/* One thread more, that the last one has resumed: 1. */
__noinline int lua_add(__u32 i)
{
	struct lang_walk *w = this_walk();
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;

	return o && i < LUA_THREADS ? lua_add_resumed(walk_env(w), lua_state_of(w), o) : 0;
}

/* The register of a function's first argument: the loop's is the thread. */
#if defined(__TARGET_ARCH_arm64)
#define LUA_ARGUMENT	0
#else
#define LUA_ARGUMENT	5
#endif

/* 0; negative: no loop of Lua's was met, or no thread found there. */
__noinline int lua_start(__u32 state)
{
	struct lang_walk *w = this_walk();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &state);
	const struct ebp_lua *o = w ? walk_layout(w) : NULL;
	int found = 0;

	if (!u || !o || !u->loop_sp)
		return -1;
	for (__u32 i = 0; i < LUA_SEARCHED && !found; i++)
		found = lua_search(u->loop_sp + i * LUA_CHUNK * sizeof(__u64));
	if (!found && !lua_look_at(walk_env(w), lua_state_of(w), o, u->regs.r[LUA_ARGUMENT]))
		return -1;
	lua_begin(walk_env(w), lua_state_of(w), o);
	for (__u32 i = 0; i < LUA_THREADS; i++)
		if (!lua_add(i))
			break;
	if (lua_is_apart(lua_state_of(w)))
		for (__u32 i = 0; i < LUA_THREADS; i++)
			if (!lua_add(i))
				break;
	return 0;
}

#endif
