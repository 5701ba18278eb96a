/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the calls of Lua (CallInfo): from a call to the one that made it.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct lua_env` (opaque here) and
 *   int lua_read(env, dst, size, address)	target memory: 0, or negative
 * and may define LUA_READ_NEAR(env, what, size, address): the same of what is read for
 * each frame, into an array or a variable that has room for more.
 *
 * Nothing leads to the state of a thread of Lua (lua_State) but the stack of the C code that runs
 * it: the interpreter's loop has it in a register, or its caller has. So it is looked for among the
 * words from the loop's frame on. It counts where its type, its stack and its last call agree. Who
 * resumed a coroutine is not kept; but the main thread is known from all, and who is resumed is an
 * argument of the C function that does it, or belongs to that (coroutine.wrap).
 *
 * Nothing that is read is trusted, and every offset is masked: a layout that does not fit gives no
 * frames, not wrong ones. A frame's place is the number of its instruction.
 */
#ifndef EBPROF_LUA_STEP_H
#define EBPROF_LUA_STEP_H

#include "bpf/lua.h"

#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

#ifndef LUA_READ_NEAR
#define LUA_READ_NEAR(env, what, size, address) lua_read((env), &(what), (size), (address))
#endif

#define LUA_THREADS	8	/* coroutines that run within one another */
#define LUA_SEARCHED	4	/* chunks of the stack that are looked through */
#define LUA_CHUNK	32	/* words of one */

/* Types, and the bits that have them. */
#define LUA_TYPE_BITS	0x3f
#define LUA_IS_FUNCTION	6u
#define LUA_IS_LIGHT	0x16u	/* a C function that is no object */
#define LUA_IS_THREAD	8u
#define LUA_IS_PROTO	9u	/* or the next one, since 5.4 */

/* Of values and objects: the second word has the type. */
#define LUA_TYPE_OF(word) ((__u32)(word) & LUA_TYPE_BITS)

#define LUA_VALUE	16	/* bytes of a value: what it is, and its type */
#define LUA_STATE_WORDS	12
#define LUA_CALL_WORDS	9
#define LUA_ARRAY_BYTES	40
#define LUA_BACK	2	/* word of CallInfo, where that is in a list */
#define LUA_CLOSURE_WORDS 6
#define LUA_PROTO_WORDS	16
#define LUA_TEXT	24	/* of a string: its bytes, behind the head */
#define LUA_SOURCE_WORDS 5	/* of the name of a source, its head first, that tell it */

struct lua_call {
	__u64 function;		/* its closure, or the C function; 0: there is no call */
	__u64 proto;		/* 0: it is C */
	__u64 code;		/* address of its instructions */
	__u64 source;
	__u32 first_line;
	__u32 pc;		/* number of its instruction; EBP_PLACE_NONE */
	__u32 is_fresh, is_tail;
};

struct lua_state {
	__u64 found;		/* a thread */
	__u64 threads[LUA_THREADS]; /* that run, the outermost first */
	__u32 left;		/* ... of which so many are to be walked */
	__u32 whole;		/* they are all */
	__u64 call;		/* the next one that is read; 0: the thread has no more */
	__u64 first, running;	/* where calls are an array: its start; the instruction */
	struct lua_call caller;	/* the last one that was read: what called the frame */
	struct lua_call frame;
	/* What the last step found: */
	__u64 code;		/* 0: no frame */
	__u64 identity;		/* of that code and what it is called */
	__u32 entry;		/* C called it: it began its run */
	__u32 ended;		/* all has been said */
	__u64 cached;		/* the closure whose function is in proto_words; 0: none */
	__u64 proto;		/* ... and where that is */
	__u64 source, source_hash;
	__u64 state_words[LUA_STATE_WORDS];
	__u64 call_words[LUA_CALL_WORDS];
	__u64 closure_words[LUA_CLOSURE_WORDS];
	__u64 proto_words[LUA_PROTO_WORDS];
	__u64 words[LUA_CHUNK];	/* what is looked through */
};

#define LUA_OF(words, n, offset) ((words)[(offset) >> 3 & ((n) - 1)])
#define LUA_OF_PROTO(s, offset)	 LUA_OF((s)->proto_words, LUA_PROTO_WORDS, offset)
#define LUA_NUMBER(s, offset)	 ((__u32)(LUA_OF_PROTO(s, offset) >> ((offset) & 4) * 8))

static __always_inline __u64 lua_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static __always_inline __u64 lua_state_word(const struct lua_state *s, __u32 offset)
{
	__u32 i = offset >> 3 & 15;

	return s->state_words[i < LUA_STATE_WORDS ? i : 0];
}

static __always_inline __u64 lua_call_word(const struct lua_state *s, __u32 offset)
{
	__u32 i = offset >> 3 & 15;

	return s->call_words[i < LUA_CALL_WORDS ? i : 0];
}

static __always_inline __u64 lua_closure_word(const struct lua_state *s, __u32 offset)
{
	__u32 i = offset >> 3 & 7;

	return s->closure_words[i < LUA_CLOSURE_WORDS ? i : 0];
}

/* Whether the closure with that second word is C's. */
static __always_inline int lua_is_c(const struct ebp_lua *o, __u64 word)
{
	return o->array ? !!(word >> 16 & 0xff) : LUA_TYPE_OF(word) != LUA_IS_FUNCTION;
}

/* --- Threads. ------------------------------------------------------------------ */

/* Whether the thread at @address runs something, or has resumed another; it is in state_words. */
static __always_inline int lua_is_active(struct lua_env *env, struct lua_state *s,
					 const struct ebp_lua *o, __u64 address)
{
	__u64 ci, function;

	if (address & 7 || address < 0x10000 || address >> 47 ||
	    lua_read(env, s->state_words, sizeof(s->state_words), address) ||
	    (__u8)s->state_words[1] != LUA_IS_THREAD ||
	    (__u8)(s->state_words[1] >> (o->status & 7) * 8))
		return 0;
	ci = lua_state_word(s, o->ci);
	if (lua_read(env, s->call_words, (LUA_BACK + 1) * sizeof(__u64), ci))
		return 0;
	if (o->array ? ci == lua_state_word(s, o->first_ci) : !s->call_words[LUA_BACK])
		return 0;
	function = lua_call_word(s, o->function);
	return function >= lua_state_word(s, o->stack) &&
	       function < lua_state_word(s, o->stack_end);
}

/* One word of the stack: 1 where it is a thread that is active, which is s->found then. */
static __always_inline int lua_look_at(struct lua_env *env, struct lua_state *s,
				       const struct ebp_lua *o, __u64 word)
{
	if (!lua_is_active(env, s, o, word))
		return 0;
	s->found = word;
	return 1;
}

/* Whether the value, its type @type, at @value is a thread of @global's that is active. */
static __always_inline int lua_is_resumed(struct lua_env *env, struct lua_state *s,
					  const struct ebp_lua *o, __u64 value, __u64 type,
					  __u64 global)
{
	return LUA_TYPE_OF(type) == LUA_IS_THREAD && lua_is_active(env, s, o, value) &&
	       lua_state_word(s, o->global) == global;
}

/* The thread that the one at @thread has resumed; 0: none. */
static __always_inline __u64 lua_resumed(struct lua_env *env, struct lua_state *s,
					 const struct ebp_lua *o, __u64 thread)
{
	__u64 values[4] = {}, global;

	if (!lua_is_active(env, s, o, thread) ||
	    lua_read(env, values, sizeof(values), lua_call_word(s, o->function)))
		return 0;
	global = lua_state_word(s, o->global);
	if (LUA_TYPE_OF(values[1]) != LUA_IS_LIGHT &&
	    (lua_read(env, s->closure_words, sizeof(s->closure_words), values[0]) ||
	     !lua_is_c(o, s->closure_words[1])))
		return 0;
	if (lua_is_resumed(env, s, o, values[2], values[3], global))
		return values[2];
	if (LUA_TYPE_OF(values[1]) == LUA_IS_LIGHT ||
	    lua_read(env, values, LUA_VALUE, values[0] + o->upvalue) ||
	    !lua_is_resumed(env, s, o, values[0], values[1], global))
		return 0;
	return values[0];
}

static __always_inline int lua_has_thread(const struct lua_state *s, __u64 thread)
{
	/* What is behind the others is of old. To leave at once saves the verifier many ways. */
	for (__u32 i = 0; i < LUA_THREADS; i++)
		if (s->threads[i] == thread)
			return i < s->left;
	return 0;
}

/* The last of the threads so far has resumed one more: 1. */
static __always_inline int lua_add_resumed(struct lua_env *env, struct lua_state *s,
					   const struct ebp_lua *o)
{
	__u32 left = s->left;
	__u64 next = lua_resumed(env, s, o, s->threads[(left - 1) & (LUA_THREADS - 1)]);

	if (!next || lua_has_thread(s, next))
		return 0;
	if (left >= LUA_THREADS) {
		s->whole = 0;
		return 0;
	}
	/* The mask has to stay: not every verifier knows by the comparison what a copy of it is. */
	barrier_var(left);
	s->threads[left & (LUA_THREADS - 1)] = next;
	s->left = left + 1;
	return 1;
}

static __always_inline void lua_begin_at(struct lua_state *s, __u64 thread)
{
	s->threads[0] = thread;
	s->left = 1;
}

/* From what is found: the main thread, where that is active. */
static __always_inline void lua_begin(struct lua_env *env, struct lua_state *s,
				      const struct ebp_lua *o)
{
	__u64 global = lua_state_word(s, o->global), main = global - o->global_behind;

	s->call = s->caller.function = s->code = s->cached = s->source = 0;
	s->ended = 0;
	s->whole = 1;
	lua_begin_at(s, s->found);
	if (main != s->found && lua_is_active(env, s, o, main) &&
	    lua_state_word(s, o->global) == global)
		lua_begin_at(s, main);
}

/* What was found is no thread of those: it was resumed by a C function of another kind. */
static __always_inline int lua_is_apart(struct lua_state *s)
{
	if (lua_has_thread(s, s->found))
		return 0;
	lua_begin_at(s, s->found);
	s->whole = 0;
	return 1;
}

/* --- Calls. -------------------------------------------------------------------- */

/* The closure at @address, and what it is made of. 0; negative where it is none. */
static __always_inline int lua_read_closure(struct lua_env *env, struct lua_state *s,
					    const struct ebp_lua *o, __u64 address)
{
	__u64 type;

	if (address == s->cached)
		return 0;
	s->cached = 0;
	if (LUA_READ_NEAR(env, s->closure_words, sizeof(s->closure_words), address))
		return -1;
	type = s->closure_words[1];
	if ((LUA_TYPE_OF(type) & 15) != LUA_IS_FUNCTION)
		return -1;
	if (lua_is_c(o, type))
		return 0;
	s->proto = lua_closure_word(s, o->proto);
	if (LUA_READ_NEAR(env, s->proto_words, sizeof(s->proto_words), s->proto))
		return -1;
	type = LUA_TYPE_OF(s->proto_words[1]);
	if (type != LUA_IS_PROTO && type != LUA_IS_PROTO + 1)
		return -1;
	s->cached = address;
	return 0;
}

/* The function of Lua's that is in proto_words, at what was @saved. */
static __always_inline void lua_take_proto(struct lua_state *s, const struct ebp_lua *o,
					   __u64 saved)
{
	struct lua_call *c = &s->caller;
	__u64 from;

	c->proto = s->proto;
	c->code = LUA_OF_PROTO(s, o->code);
	c->source = LUA_OF_PROTO(s, o->source);
	c->first_line = LUA_NUMBER(s, o->first_line);
	/* The next instruction is saved. */
	from = saved - c->code - sizeof(__u32);
	c->pc = EBP_PLACE_NONE;
	if (!(from & 3) && from >> 2 < LUA_NUMBER(s, o->ncode) && from >> 2 < EBP_PLACE_NONE)
		c->pc = from >> 2;
}

/* What the call in call_words runs into s->caller. 0; negative where it cannot be read. */
static __always_inline int lua_take_call(struct lua_env *env, struct lua_state *s,
					 const struct ebp_lua *o, __u64 saved)
{
	struct lua_call *c = &s->caller;
	__u32 flags = lua_call_word(s, o->flags) >> (o->flags & 7) * 8;
	__u64 value[2] = {};

	c->proto = c->code = c->source = 0;
	c->first_line = 0;
	c->pc = EBP_PLACE_NONE;
	c->is_tail = 0;
	c->is_fresh = o->inner ? !(flags & o->inner) : !!(flags & o->fresh);
	if (LUA_READ_NEAR(env, value, sizeof(value), lua_call_word(s, o->function)))
		return -1;
	c->function = value[0];
	if (LUA_TYPE_OF(value[1]) == LUA_IS_LIGHT)
		return value[0] ? 0 : -1;
	if ((LUA_TYPE_OF(value[1]) & 15) != LUA_IS_FUNCTION ||
	    lua_read_closure(env, s, o, value[0]))
		return -1;
	if (s->cached == value[0]) {
		lua_take_proto(s, o, saved);
		c->is_tail = o->array ? !!flags : !!(flags & o->tail);
	} else {
		c->function = lua_closure_word(s, o->upvalue - 8);
	}
	return c->function ? 0 : -1;
}

/* The next call of the thread into s->caller, if it has one. 0; negative: it cannot be read. */
static __always_inline int lua_next_call(struct lua_env *env, struct lua_state *s,
					 const struct ebp_lua *o)
{
	__u64 at = s->call, saved;

	s->caller.function = s->caller.proto = 0;
	s->call = 0;
	if (!at || at == s->first)
		return 0;
	if (LUA_READ_NEAR(env, s->call_words,
		     o->array ? LUA_ARRAY_BYTES : sizeof(s->call_words), at))
		return -1;
	s->call = o->array ? at - o->array : s->call_words[LUA_BACK];
	/* The first one of a list is no call. */
	if (!s->call)
		return 0;
	saved = s->running ? s->running : lua_call_word(s, o->saved);
	s->running = 0;
	return lua_take_call(env, s, o, saved);
}

/* The next thread's last call. 0; negative: it cannot be read. */
static __always_inline int lua_next_thread(struct lua_env *env, struct lua_state *s,
					   const struct ebp_lua *o)
{
	if (!s->left) {
		s->ended = 1;
		return 0;
	}
	s->left--;
	if (lua_read(env, s->state_words, sizeof(s->state_words),
		     s->threads[s->left & (LUA_THREADS - 1)]))
		return -1;
	s->call = lua_state_word(s, o->ci);
	s->first = o->array ? lua_state_word(s, o->first_ci) : 0;
	s->running = o->array ? lua_state_word(s, o->running) : 0;
	return lua_next_call(env, s, o);
}

/* The instruction that called the frame; EBP_LUA_NO_CALL: C did, or it is not known. */
static __always_inline __u32 lua_instruction(struct lua_env *env, const struct lua_state *s)
{
	__u32 instruction = 0;

	if (!s->caller.proto || s->caller.pc == EBP_PLACE_NONE || s->frame.is_tail ||
	    lua_read(env, &instruction, sizeof(instruction), s->caller.code + s->caller.pc * 4ull))
		return EBP_LUA_NO_CALL;
	return instruction;
}

static __always_inline __u32 lua_op(const struct ebp_lua *o, __u32 instruction)
{
	return instruction & ((1u << (o->op_bits & 7)) - 1);
}

static __always_inline int lua_is_call(const struct ebp_lua *o, __u32 op)
{
	return op == o->ops[EBP_LUA_CALL] || op == o->ops[EBP_LUA_CALL] + 1u;
}

/* Whether C called the frame. 5.1 does not say it: the instruction does that called it. */
static __always_inline int lua_is_entry(struct lua_env *env, const struct lua_state *s,
					const struct ebp_lua *o)
{
	__u32 instruction = 0;

	if (!s->frame.proto)
		return 0;
	if (!o->array || !s->caller.proto)
		return o->array ? 1 : s->frame.is_fresh;
	if (s->caller.pc == EBP_PLACE_NONE ||
	    LUA_READ_NEAR(env, instruction, sizeof(instruction),
			  s->caller.code + s->caller.pc * 4ull))
		return 0;
	return !lua_is_call(o, lua_op(o, instruction));
}

/* What tells the frame's code, by the name that its caller has for it, from others. */
static __always_inline __u64 lua_identity(struct lua_env *env, struct lua_state *s)
{
	const struct lua_call *f = &s->frame, *by = &s->caller;
	__u64 h = lua_mix(f->proto ? f->proto : f->function, f->code ^ f->first_line);

	if (f->source && f->source != s->source) {
		s->source = s->source_hash = 0;
		if (!LUA_READ_NEAR(env, s->words, LUA_SOURCE_WORDS * sizeof(__u64), f->source)) {
			s->source = f->source;
			for (__u32 i = 1; i < LUA_SOURCE_WORDS; i++)
				s->source_hash = lua_mix(s->source_hash, s->words[i]);
		}
	}
	if (f->source)
		h = lua_mix(h, s->source_hash);
	if (by->proto && !f->is_tail)
		h = lua_mix(lua_mix(h, by->proto ^ by->code), by->pc);
	return h | 1;
}

/* One call: 0, with s->code 0 where it is no frame. Negative: it cannot be read. */
static __always_inline int lua_step(struct lua_env *env, struct lua_state *s,
				    const struct ebp_lua *o)
{
	s->code = s->entry = 0;
	if (!s->caller.function)
		return lua_next_thread(env, s, o);
	s->frame = s->caller;
	if (lua_next_call(env, s, o))
		return -1;
	s->entry = lua_is_entry(env, s, o);
	/* C that C called has no name. */
	if (s->frame.proto || (s->caller.proto && !s->frame.is_tail)) {
		s->code = s->frame.function;
		s->identity = lua_identity(env, s);
	}
	return 0;
}

#endif
