/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a record says of a function of LuaJIT, compiled for BPF and natively, on luajit_step.h.
 *
 * Functions have no names; what the instruction that called it had for it is one. Which that is, by
 * the rules of debug.traceback(), user space finds out (src/lang/luajit_text): it gets the caller's
 * instructions, the names of its variables, and the one string that those rules may lead to.
 */
#ifndef EBPROF_LUAJIT_DESCRIBE_H
#define EBPROF_LUAJIT_DESCRIBE_H

#include "bpf/luajit_step.h"

struct luajit_naming {
	__u64 name;		/* address of a string's object; 0: none */
	__u32 reg;		/* that has the function */
	__u32 n;		/* instructions that are looked through */
};

/* The instructions to the one that called the frame into s->words. How many; 0: there are none. */
static __always_inline __u32 luajit_before(struct luajit_env *env, struct luajit_state *s,
					   struct luajit_naming *n)
{
	__u32 pc = s->caller.pc, count;
	__u32 call;

	n->name = n->n = 0;
	if (!s->caller.proto || s->frame.is_apart || pc >= EBP_PLACE_NONE)
		return 0;
	count = pc + 1 < EBP_LUAJIT_BEFORE ? pc + 1 : EBP_LUAJIT_BEFORE;
	barrier_var(count);
	if (count > EBP_LUAJIT_BEFORE ||
	    luajit_read(env, s->words, count * 4, s->caller.code + (pc + 1 - count) * 4ull))
		return 0;
	call = ((const __u32 *)s->words)[(count - 1) & (EBP_LUAJIT_BEFORE - 1)];
	n->reg = EBP_LUAJIT_A(call) - (EBP_LUAJIT_OP(call) == EBP_LUAJIT_ITERC ? 3 : 0);
	n->n = count;
	return count;
}

/*
 * The instruction that is @i before the one that called, from 1 on: whether it was the last one to
 * be looked at. What it fetched from, if that is a string, is n->name.
 */
static __always_inline int luajit_setter(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o, struct luajit_naming *n,
					 __u32 i)
{
	__u32 x = ((const __u32 *)s->words)[(n->n - 1 - i) & (EBP_LUAJIT_BEFORE - 1)];
	__u32 op = EBP_LUAJIT_OP(x), a = EBP_LUAJIT_A(x), key;

	if (i >= n->n)
		return 1;
	if (EBP_LUAJIT_SETS_ALL(op))
		return n->reg >= a && (op != EBP_LUAJIT_KNIL || n->reg <= EBP_LUAJIT_D(x));
	if (a != n->reg || !EBP_LUAJIT_SETS(op))
		return 0;
	if (op == EBP_LUAJIT_MOV) {
		n->reg = EBP_LUAJIT_D(x);
		return 0;
	}
	s->cached = 0;
	key = op == EBP_LUAJIT_GGET ? EBP_LUAJIT_D(x) : EBP_LUAJIT_C(x);
	if ((op == EBP_LUAJIT_GGET || op == EBP_LUAJIT_TGETS) &&
	    !luajit_read(env, s->proto_words, sizeof(s->proto_words), s->caller.proto) &&
	    !luajit_read(env, &n->name, sizeof(n->name),
			 LUAJIT_REF(s, o, proto, constants) - (key + 1ull) * (o->wide ? 8 : 4)))
		n->name &= o->wide ? ~0ull : 0xffffffff;
	return 1;
}

/* @size bytes at most, of @n at @from, to @to. How many were read. */
static __always_inline __u32 luajit_part(struct luajit_env *env, __u8 *to, __u32 size, __u32 n,
					 __u64 from)
{
	n = n < size ? n : size;
	barrier_var(n);
	if (n > size || !n || !from || luajit_read(env, to, n, from))
		return 0;
	return n;
}

/* Where names of the caller's variables are. */
static __always_inline void luajit_names(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o, struct ebp_luajit_table *t,
					 __u8 *to)
{
	__u32 ref = o->wide ? 8 : 4;
	__u64 upvalues, variables, end;

	s->cached = 0;
	if (luajit_read(env, s->proto_words, sizeof(s->proto_words), s->caller.proto))
		return;
	upvalues = luajit_ref(o, s->proto_words, LUAJIT_PROTO_WORDS, o->lines + ref);
	variables = luajit_ref(o, s->proto_words, LUAJIT_PROTO_WORDS, o->lines + 2 * ref);
	end = s->caller.proto + LUAJIT_NUMBER(s, o, all_bytes);
	if (!upvalues || variables < upvalues || end < variables || end - upvalues > 0xffffff)
		return;
	t->variables = variables - upvalues;
	t->names = end - upvalues;
	t->names_at = upvalues;
	t->names_sent = luajit_part(env, to, EBP_LUAJIT_NAMES, t->names, upvalues);
}

/* Where lines of the frame's function are. */
static __always_inline void luajit_lines(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o, struct ebp_luajit_table *t,
					 __u8 *to)
{
	__u32 bytes;

	s->cached = 0;
	if (luajit_read(env, s->proto_words, sizeof(s->proto_words), s->frame.proto))
		return;
	t->ncode = LUAJIT_NUMBER(s, o, ncode);
	t->nlines = luajit_half(s->proto_words, LUAJIT_PROTO_WORDS, o->first_line + 4);
	t->lines = LUAJIT_REF(s, o, proto, lines);
	if (t->ncode > EBP_PLACE_NONE || !t->ncode)
		return;
	bytes = (t->ncode - 1) * (t->nlines < 256 ? 1 : t->nlines < 65536 ? 2 : 4);
	t->lines_sent = luajit_part(env, to, EBP_LUAJIT_LINES, bytes, t->lines);
}

#endif
