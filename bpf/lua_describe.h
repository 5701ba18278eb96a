/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a function of Lua is called: functions have no names, so that is what the instruction that
 * called it had for it, as debug.traceback() has it; compiled for BPF and natively, on lua_step.h.
 *
 * Where that instruction is a call, its register has the function: a local variable, or what an
 * instruction before it fetched there. Of those the last LUA_BEFORE are looked at.
 */
#ifndef EBPROF_LUA_DESCRIBE_H
#define EBPROF_LUA_DESCRIBE_H

#include "bpf/lua_step.h"

#define LUA_BEFORE	64	/* instructions: twice LUA_CHUNK, they are in the words of that */
#define LUA_LOCALS	200	/* of a function, that are looked through */
#define LUA_IS_STRING	4u	/* a type */

struct lua_naming {
	__u64 name;		/* address of a string's object; 0: none */
	__u32 kind;		/* enum ebp_lua_name */
	__u32 instruction;	/* what fetched the function; EBP_LUA_NO_CALL */
	/* While locals are looked through: how many more of those that live are before it. */
	__u32 left;
	/* While instructions are: the register; the first one, how many; where jumps lead to. */
	__u32 reg, first, n, target;
	__u32 in_closure;	/* of 5.1: before was a closure, or what an upvalue of it is */
};

/* The register whose function the @instruction calls; negative: it calls none. */
static __always_inline int lua_called(const struct ebp_lua *o, __u32 instruction)
{
	__u32 op = lua_op(o, instruction);

	if (instruction == EBP_LUA_NO_CALL ||
	    (!lua_is_call(o, op) && !(o->array && op == o->ops[EBP_LUA_ITERATE])))
		return -1;
	return instruction >> (o->op_bits & 7) & 255;
}

static __always_inline __u32 lua_b(const struct ebp_lua *o, __u32 instruction)
{
	return instruction >> (o->b_at & 31) & ((1u << (o->b_bits & 15)) - 1);
}

static __always_inline __u32 lua_c(const struct ebp_lua *o, __u32 instruction)
{
	return instruction >> (o->c_at & 31) & ((1u << (o->c_bits & 15)) - 1);
}

/*
 * Local variable @i of the caller: whether it is the last one to be looked at. Where n->left
 * becomes 0 it is the one, and n->name its name.
 */
static __always_inline int lua_local(struct lua_env *env, const struct lua_state *s,
				     const struct ebp_lua *o, struct lua_naming *n, __u32 i)
{
	__u64 row[2] = {};	/* its name; from, to */
	__u32 pc = s->caller.pc;

	if (i >= LUA_NUMBER(s, o->nlocals) ||
	    lua_read(env, row, sizeof(row), LUA_OF_PROTO(s, o->locals) + i * sizeof(row)) ||
	    (__u32)row[1] > pc)
		return 1;
	n->left -= pc < row[1] >> 32;
	if (n->left)
		return 0;
	n->name = row[0];
	n->kind = EBP_LUA_NAMED;
	return 1;
}

/* Whether opcode @op sets its register A. */
static __always_inline int lua_sets(const struct ebp_lua *o, __u32 op)
{
	__u64 set = op < 64 ? o->sets[0] : o->sets[1];

	return set >> (op & 63) & 1;
}

/* Before lua_setter(): the instructions before the caller's. 0, or negative: there are none. */
static __always_inline int lua_before(struct lua_env *env, struct lua_state *s,
				      struct lua_naming *n, __u32 reg)
{
	__u32 pc = s->caller.pc, count = pc < LUA_BEFORE ? pc : LUA_BEFORE;

	n->instruction = EBP_LUA_NO_CALL;
	n->reg = reg;
	n->n = count;
	n->first = pc - count;
	n->target = n->in_closure = 0;
	barrier_var(count);
	if (!count || count > LUA_BEFORE)
		return -1;
	return lua_read(env, s->words, count * 4, s->caller.code + n->first * 4ull);
}

/*
 * Instruction @i of those: n->instruction is the last that set the register, of which that is sure:
 * what a jump may have passed over is not; 5.1 follows the jump. Whether it was the last one.
 */
static __always_inline int lua_setter(const struct lua_state *s, const struct ebp_lua *o,
				      struct lua_naming *n, __u32 i)
{
	__u32 x = ((const __u32 *)s->words)[i & (LUA_BEFORE - 1)], op = lua_op(o, x);
	__u32 a = x >> (o->op_bits & 7) & 255, at = n->first + i, to;

	if (i >= n->n)
		return 1;
	n->in_closure = op == o->ops[EBP_LUA_CLOSURE] ||
			(n->in_closure && !a && (op == o->ops[EBP_LUA_MOVE] ||
						 op == o->ops[EBP_LUA_UPVALUE]));
	if ((n->in_closure && op != o->ops[EBP_LUA_CLOSURE]) || (o->array && at < n->target))
		return 0;
	if (op == o->ops[EBP_LUA_JMP]) {
		to = at + 1 + (x >> (o->j_at & 31)) - o->j_zero;
		if (to > at && to <= s->caller.pc && to > n->target)
			n->target = to;
	} else if (lua_is_call(o, op) ? a <= n->reg : a == n->reg && lua_sets(o, op)) {
		n->instruction = at < n->target ? EBP_LUA_NO_CALL : x;
	}
	return 0;
}

/* A constant of the caller, as a name; where it is no string, that is not known. */
static __always_inline void lua_constant(struct lua_env *env, const struct lua_state *s,
					 const struct ebp_lua *o, __u32 i, struct lua_naming *n)
{
	__u64 value[2] = {};

	n->kind = EBP_LUA_SOME_FIELD;
	if (lua_read(env, value, sizeof(value),
		     LUA_OF_PROTO(s, o->constants) + i * (__u64)LUA_VALUE) ||
	    (LUA_TYPE_OF(value[1]) & 15) != LUA_IS_STRING)
		return;
	n->name = value[0];
	n->kind = EBP_LUA_NAMED;
}

/* What of the instruction's operands is the constant's number; negative: it is in a register. */
static __always_inline int lua_key(const struct ebp_lua *o, __u32 x, __u32 op)
{
	__u32 c = lua_c(o, x);

	if (op == o->ops[EBP_LUA_GLOBAL])
		return x >> (o->bx_at & 31);
	if (op == o->ops[EBP_LUA_FIELD])
		return c;
	/* Since 5.4 there is another instruction for a constant. */
	if (o->c_bits == 9)
		return c & 256 ? (int)(c & 255) : -1;
	return op == o->ops[EBP_LUA_INDEX] ? -1 : (int)c;
}

/* The name by which n->instruction fetched the function. */
static __always_inline void lua_fetched(struct lua_env *env, const struct lua_state *s,
					const struct ebp_lua *o, struct lua_naming *n)
{
	__u32 x = n->instruction, op = lua_op(o, x);
	int key;

	if (x == EBP_LUA_NO_CALL)
		return;
	if (op == o->ops[EBP_LUA_UPVALUE]) {
		if (!lua_read(env, &n->name, sizeof(n->name),
			      LUA_OF_PROTO(s, o->upvalues) +
				      lua_b(o, x) * (__u64)o->upvalue_bytes))
			n->kind = EBP_LUA_NAMED;
	} else if (op == o->ops[EBP_LUA_INTEGER]) {
		n->kind = EBP_LUA_SOME_INTEGER;
	} else if (op == o->ops[EBP_LUA_GLOBAL] || op == o->ops[EBP_LUA_FIELD] ||
		   op == o->ops[EBP_LUA_TABLE_UP] || op == o->ops[EBP_LUA_SELF] ||
		   op == o->ops[EBP_LUA_INDEX]) {
		key = lua_key(o, x, op);
		n->kind = EBP_LUA_SOME_FIELD;
		if (key >= 0)
			lua_constant(env, s, o, key, n);
	}
}

/* The bytes of the string at @address; 0: it is none. */
static __always_inline __u64 lua_string(struct lua_env *env, __u64 address)
{
	__u64 head[2] = {};

	if (!address || lua_read(env, head, sizeof(head), address) ||
	    (LUA_TYPE_OF(head[1]) & 15) != LUA_IS_STRING)
		return 0;
	return address + LUA_TEXT;
}

/* What the record says of lines of the frame's function, whose Proto it reads; the bytes behind. */
static __always_inline void lua_table(struct lua_env *env, struct lua_state *s,
				      const struct ebp_lua *o, struct ebp_lua_table *t, __u8 *to)
{
	__u32 lines, far;

	if (lua_read(env, s->proto_words, sizeof(s->proto_words), s->frame.proto))
		return;
	s->cached = 0;
	t->nlines = LUA_NUMBER(s, o->nlines);
	t->lines = LUA_OF_PROTO(s, o->lines);
	if (o->far_lines) {
		t->nfar = LUA_NUMBER(s, o->nfar_lines);
		t->far_lines = LUA_OF_PROTO(s, o->far_lines);
	}
	far = t->nfar < EBP_LUA_FAR_BYTES / 8 ? t->nfar * 8 : EBP_LUA_FAR_BYTES;
	lines = t->nlines < EBP_LUA_LINE_BYTES ? t->nlines * o->line_bytes : EBP_LUA_LINE_BYTES;
	lines = lines < EBP_LUA_LINE_BYTES ? lines : EBP_LUA_LINE_BYTES;
	barrier_var(far);
	barrier_var(lines);
	if (far > EBP_LUA_FAR_BYTES || lines > EBP_LUA_LINE_BYTES)
		return;
	if (far && !lua_read(env, to, far, t->far_lines))
		t->far_sent = far;
	if (lines && !lua_read(env, to + EBP_LUA_FAR_BYTES, lines, t->lines))
		t->sent = lines;
}

#endif
