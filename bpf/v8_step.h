/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What function of JavaScript a frame with a frame pointer is of.
 *
 * The same code is compiled for BPF, unit tests and a fuzz target. Who includes it defines before:
 * `struct v8_env` (opaque here) and
 *   int v8_read(env, dst, size, address)	target memory: 0, or negative
 *
 * All code that V8 makes keeps frame pointers. Below a function's are its context (another kind of
 * frame has a small even number there), the function, the number of its arguments, and, where the
 * interpreter runs it, its bytecode and the place in it.
 */
#ifndef EBPROF_V8_STEP_H
#define EBPROF_V8_STEP_H

#include "bpf/frame.h"
#include "bpf/v8.h"

#define V8_FRAME	48	/* bytes below the frame pointer that are read, and 16 above */
/* words of a frame */
#define V8_FUNCTION	4
#define V8_CONTEXT	5
#define V8_CALLER_SP	5	/* ... where the frame is gone (v8_swap.h) */
#define V8_CALLER_FP	6
#define V8_CALLER_PC	7

/*
 * A string that is being read. In the state, not on the stack: of numbers there the verifier knows
 * which are possible, and looks at a loop for each combination.
 */
struct v8_text {
	__u64 at;		/* the part of it that is read now, tagged */
	__u64 skip;		/* characters of that part before those that are wanted */
	__u32 begin, end;	/* where it lies in the whole, in characters */
	__u32 length;		/* of the whole */
	__u32 type;		/* of what has the characters; V8_NO_TYPE: not known yet */
};

struct v8_state {
	__u64 words[EBP_V8_WORDS];	/* of the frame */
	__u64 function[EBP_V8_WORDS];
	__u64 shared[EBP_V8_WORDS];
	__u64 code[EBP_V8_WORDS];
	__u64 name[4];			/* the beginning of the name, or of its ScopeInfo */
	__u64 object[4];		/* the beginning of an object that is looked at */
	__u64 type;			/* of a map */
	struct v8_text text;
	__u64 shared_at, code_at;	/* tagged; code_at 0: not known */
	__u64 pc;			/* of an EBP_V8_UNPLACED; 0: in no code made at run time */
	__u64 identity;			/* what tells this code from others */
	__u32 place;
	__u32 kind;			/* enum ebp_v8_kind */
};

static __always_inline __u64 v8_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* A word of the first of an object. */
static __always_inline __u64 v8_word(const __u64 *words, __u32 offset)
{
	return words[offset >> 3 & (EBP_V8_WORDS - 1)];
}

/* The same of a 32-bit field. */
static __always_inline __u32 v8_half(const __u64 *words, __u32 offset)
{
	return (__u32)(v8_word(words, offset) >> (offset & 4) * 8);
}

/* The first words of the object at the tagged @at. 0, or negative. */
static __always_inline int v8_object(struct v8_env *env, __u64 *to, __u64 at)
{
	return at & 1 ? v8_read(env, to, 8 * EBP_V8_WORDS, at - 1) : -1;
}

#define V8_NO_TYPE 0xffffu

/* The instance type that @map, a tagged pointer, gives its objects. */
static __always_inline __u32 v8_type_of(struct v8_env *env, struct v8_state *s, __u64 map)
{
	if (!(map & 1) || v8_read(env, &s->type, sizeof(s->type), map - 1 + 8))
		return V8_NO_TYPE;
	return s->type >> 32 & 0xffff;
}

/* The function of which @at is a JSFunction, into @s. 0, or negative: it is none of a script. */
static __always_inline int v8_function(struct v8_env *env, struct v8_state *s,
				       const struct ebp_v8 *o, __u64 at)
{
	if (v8_object(env, s->function, at))
		return -1;
	s->shared_at = v8_word(s->function, o->function_shared);
	if (v8_object(env, s->shared, s->shared_at) ||
	    v8_type_of(env, s, s->shared[0]) != o->shared_type)
		return -1;
	/* Builtins have a number there. */
	if (!(v8_word(s->shared, o->shared_data) & 1))
		return -1;
	s->name[1] = s->name[2] = s->name[3] = 0;
	if (v8_word(s->shared, o->shared_name) & 1 &&
	    v8_read(env, s->name, sizeof(s->name), v8_word(s->shared, o->shared_name) - 1))
		return -1;
	return 0;
}

static __always_inline __u64 v8_identity(const struct v8_state *s, const struct ebp_v8 *o)
{
	__u64 h = v8_mix(s->shared_at, v8_word(s->shared, o->shared_name));

	h = v8_mix(h, v8_word(s->shared, o->shared_data));
	h = v8_mix(h, v8_word(s->shared, o->shared_script));
	h = v8_mix(h, s->name[1]);
	h = v8_mix(h, s->name[2]);
	h = v8_mix(h, s->name[3]);
	h = v8_mix(h, s->code_at);
	/* Which code it is is found out for each page. */
	return v8_mix(h, s->kind ^ s->pc >> 12 << 12);
}

/* The Code that the function has now, into s->code_at. @isolate: the thread's, 0: not known. */
static __always_inline void v8_code_of(struct v8_env *env, struct v8_state *s,
				       const struct ebp_v8 *o, __u64 isolate)
{
	__u64 entry = 0, table = 0;

	s->code_at = v8_word(s->function, o->function_code);
	if (!o->isolate)
		return;
	entry = (s->code_at & 0xffffffff) >> 8 << 4;
	s->code_at = 0;
	if (!isolate || v8_read(env, &table, sizeof(table), isolate + o->dispatch) ||
	    v8_read(env, &entry, sizeof(entry), table + entry + 8))
		return;
	s->code_at = entry >> 16 | 1;
}

/* The place of @pc in the code that s->function has, if it is in it. */
static __always_inline void v8_compiled(struct v8_env *env, struct v8_state *s,
				       const struct ebp_v8 *o, __u64 isolate, __u64 pc)
{
	__u64 start;

	s->kind = EBP_V8_UNPLACED;
	s->place = (__u32)pc & EBP_PLACE_NONE;
	s->pc = pc;
	v8_code_of(env, s, o, isolate);
	if (!v8_object(env, s->code, s->code_at)) {
		start = o->flags & EBP_V8_CODE_INSIDE ? s->code_at - 1 + o->code_start
						      : v8_word(s->code, o->code_start);
		if (pc - start < v8_half(s->code, o->code_size) && pc - start < EBP_PLACE_NONE) {
			s->kind = EBP_V8_COMPILED;
			s->place = (__u32)(pc - start);
			s->pc = 0;
			return;
		}
	}
	s->code_at = 0;
}

/* Whether @at is the bytecode of s->shared, or what was that before. */
static __always_inline int v8_is_bytecode(struct v8_env *env, struct v8_state *s,
					  const struct ebp_v8 *o, __u64 at)
{
	if (at == v8_word(s->shared, o->shared_data))
		return 1;
	return at & 1 && !v8_read(env, s->object, sizeof(__u64), at - 1) &&
	       v8_type_of(env, s, s->object[0]) == o->bytecode_type;
}

/*
 * The place in the bytecode that the interpreter runs. A helper of compiled code, which makes no
 * frame for itself, has that code's frame.
 */
static __always_inline void v8_interpreted(struct v8_env *env, struct v8_state *s,
					   const struct ebp_v8 *o)
{
	__u64 offset = v8_word(s->words, o->slot_offset);
	__u64 at = (offset >> 32) - (o->bytecode_start - 1);

	s->kind = EBP_V8_UNPLACED;
	s->code_at = s->pc = 0;
	s->place = EBP_PLACE_NONE;
	if ((__u32)offset || !v8_is_bytecode(env, s, o, v8_word(s->words, o->slot_bytecode)))
		return;
	s->kind = EBP_V8_INTERPRETED;
	s->code_at = v8_word(s->words, o->slot_bytecode);
	if (at < EBP_PLACE_NONE)
		s->place = (__u32)at;
}

static __always_inline void v8_take_typed(struct v8_state *s, __u32 kind, __u64 type)
{
	s->kind = kind;
	s->place = EBP_PLACE_NONE;
	s->code_at = s->pc = 0;
	s->identity = v8_mix(kind, type);
}

/* A frame with a type in place of its context. 0, or negative: it is none that is shown. */
static __always_inline int v8_typed(struct v8_state *s, const struct ebp_v8 *o, int runtime)
{
	__u64 type = s->words[V8_CONTEXT] >> 1;

	if (!runtime || !type || (type != o->regexp_frame && type != o->wasm_frame))
		return -1;
	v8_take_typed(s, type == o->wasm_frame ? EBP_V8_WASM : EBP_V8_REGEXP, type);
	return 0;
}

/*
 * What the frame at @fp is of, whose code is at @pc. @runtime: this is code that was made at run
 * time, else it is V8's own. 0, or negative: it is no frame of a script, nor of a regular
 * expression or WebAssembly.
 */
static __always_inline int v8_look(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
				   __u64 isolate, __u64 fp, __u64 pc, int runtime)
{
	if (v8_read(env, s->words, sizeof(s->words), fp - V8_FRAME))
		return -1;
	if (!(s->words[V8_CONTEXT] & 1))
		return v8_typed(s, o, runtime);
	if (v8_function(env, s, o, s->words[V8_FUNCTION]))
		return -1;
	if (runtime)
		v8_compiled(env, s, o, isolate, pc);
	else
		v8_interpreted(env, s, o);
	s->identity = v8_identity(s, o);
	return 0;
}

#endif
