/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the functions of LuaJIT begin that a frame of the C stack runs: that frame, by
 * luajit_find(), then its innermost function, by luajit_begin() and luajit_first(). Compiled for
 * BPF and natively, on luajit_step.h. The includer defines behind it luajit_search_round() and
 * luajit_holds_round(): luajit_search() and luajit_holds(), as luajit_look_round().
 */
#ifndef EBPROF_LUAJIT_BEGIN_H
#define EBPROF_LUAJIT_BEGIN_H

#include "bpf/luajit_step.h"

#define LUAJIT_NEAR	0x4000	/* bytes from the global state to the table of instructions */
/* What makes a frame of the interpreter, and takes it away, but for the first byte. */
#define LUAJIT_ENTERS	0xec83485641574153ull
#define LUAJIT_LEAVES	0x5b5f415e4128c483ull
/*
 * For each instruction in the first, then in the second, a digit, from the low one on: the bytes of
 * it that are behind; the words that are on the stack.
 */
#define LUAJIT_PUSHED	5
#define LUAJIT_BEHIND	0xa986464210ull
#define LUAJIT_THERE	0x1234554321ull

static int luajit_search_round(struct luajit_env *env, struct luajit_state *s,
			       const struct ebp_luajit *o, __u32 i);
static int luajit_holds_round(struct luajit_env *env, struct luajit_state *s,
			      const struct ebp_luajit *o, __u64 base, __u64 pc);

/* --- Where the innermost one is. ----------------------------------------------- */

enum luajit_holding { LUAJIT_NOTHING, LUAJIT_OTHER, LUAJIT_HOLDS };

/*
 * Whether the frame at @base is a function's that is at @pc, or one that is being called or left:
 * the interpreter has how it links in its place then, or what is left of that.
 */
static __always_inline int luajit_holds(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	__u64 link = 0, code;
	__u32 n = 0;

	if (luajit_read_slot(env, s, o, base, &link, 0) || !luajit_function(env, s, o, 0))
		return LUAJIT_NOTHING;
	code = LUAJIT_REF(s, o, function, code);
	if (link == pc || pc == code || pc == code + 4 ||
	    (link & LUAJIT_LINK_LUA && (link | LUAJIT_LINK) == (pc | LUAJIT_LINK)))
		return LUAJIT_HOLDS;
	if (luajit_kind(s, o) || luajit_read(env, &n, sizeof(n), code - o->proto_bytes + o->ncode))
		return LUAJIT_OTHER;
	return luajit_number(pc, code, n) != EBP_PLACE_NONE ? LUAJIT_HOLDS : LUAJIT_OTHER;
}

/* States: the interpreter runs, garbage is collected; numbers of traces are others. */
#define LUAJIT_INTERPRETS	0xffffffffu
#define LUAJIT_COLLECTS		0xfffffffdu

/*
 * Where the thread's trace is, if it runs one: it is in trace_words, all zeros where it is not said
 * which one it is.
 */
static __always_inline int luajit_read_trace(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o, __u64 *base)
{
	__u64 global = LUAJIT_REF(s, o, state, global), traces[2] = {}, trace = 0;
	__u64 whole = o->wide ? ~0ull : 0xffffffff;
	__u32 number = 0;

	*base = 0;
	if (luajit_read(env, &number, sizeof(number), global + o->vmstate) ||
	    luajit_read(env, base, sizeof(*base), global + o->jit_base) ||
	    luajit_read(env, traces, sizeof(traces), global + o->traces))
		return 0;
	*base &= whole;
	__builtin_memset(s->trace_words, 0, sizeof(s->trace_words));
	/* Its first instruction says which one it is. */
	if (*base && number == LUAJIT_INTERPRETS)
		return s->at.exact && !s->at.is_interpreter;
	if (*base && number == LUAJIT_COLLECTS)
		return !s->at.exact &&
		       luajit_in(s->state_words, LUAJIT_THREAD_WORDS, o->base) == *base;
	if (!*base || number - 1 >= 0xffff || number >= traces[1] >> 32 ||
	    luajit_read(env, &trace, sizeof(trace), traces[0] + number * (o->wide ? 8 : 4)))
		return 0;
	trace &= whole;
	return !luajit_read(env, s->trace_words, sizeof(s->trace_words),
			    trace + o->mcode - LUAJIT_BEFORE_MCODE) &&
	       (__u16)s->trace_words[5] == number;
}

/* Whether code that was made is of the trace in trace_words, or of what leads out of it. */
static __always_inline int luajit_is_of_trace(const struct luajit_state *s)
{
	__u64 mcode = s->trace_words[3], bytes = s->trace_words[2] >> 32;

	if (!mcode)
		return 1;
	if (s->at.pc - !s->at.exact - mcode < bytes)
		return 1;
	return s->at.exact && mcode >= s->at.row && mcode < s->at.row_end;
}

/* The function with which the trace in trace_words begins. */
static __always_inline __u64 luajit_trace_function(const struct luajit_state *s,
						   const struct ebp_luajit *o)
{
	return o->wide ? s->trace_words[0] : s->trace_words[1] & 0xffffffff;
}

/* The innermost frame is the one with which the trace in trace_words began. */
static __always_inline void luajit_begin_trace(struct luajit_env *env, struct luajit_state *s,
					       const struct ebp_luajit *o)
{
	struct luajit_call *c = &s->inlined;
	__u64 pc = o->wide ? s->trace_words[1] : s->trace_words[1] >> 32;

	s->pc = s->cached = 0;
	s->is_trace = 1;
	if (!s->trace_words[3])
		return;
	if (luajit_take_proto(env, s, o, luajit_trace_function(s, o), c)) {
		s->is_trace = 0;
		s->bad = s->over = 1;
		return;
	}
	c->pc = luajit_number(pc + 4, c->code, LUAJIT_NUMBER(s, o, ncode));
	c->is_trace = c->is_apart = 1;
}

/* The frame at @base, at @pc; 0: that is not known. */
static __always_inline void luajit_begin_at(struct luajit_state *s, __u64 base, __u64 pc)
{
	s->base = base;
	s->pc = pc;
}

/* C calls, or what it has called is over: no function is to be seen. The one below is at @base. */
static __always_inline void luajit_begin_empty(struct luajit_state *s, __u64 base)
{
	s->base = base;
	s->over = 1;
}

/*
 * A call of a metamethod, or by pcall(), whose link @pc is not written yet: s->at.rdx is where the
 * caller is, or already where the function is to be.
 */
static __always_inline void luajit_begin_calling(struct luajit_env *env, struct luajit_state *s,
						 const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	__u64 caller = base - (pc & ~(__u64)LUAJIT_LINK), from = 0;

	if ((pc & LUAJIT_LINK) == LUAJIT_LINK_CONT &&
	    luajit_holds_round(env, s, o, base, pc) != LUAJIT_NOTHING)
		from = o->wide ? s->slot[1] : s->slot[2] >> 32;
	if (from ? luajit_holds_round(env, s, o, caller, from) == LUAJIT_HOLDS
		 : luajit_holds_round(env, s, o, caller, pc) != LUAJIT_NOTHING &&
			   luajit_kind(s, o) > 1)
		luajit_begin_at(s, caller, from);
	else
		luajit_begin_at(s, base, 0);
}

/* What luajit_begin() has left for a leaf in the interpreter. */
static __always_inline void luajit_begin_leaf(struct luajit_env *env, struct luajit_state *s,
					      const struct ebp_luajit *o)
{
	__u64 whole = o->wide ? ~0ull : 0xffffffff, base = s->at.rdx & whole, calls;
	__u64 saved = luajit_in(s->state_words, LUAJIT_THREAD_WORDS, o->base);
	__u64 pc = s->at.rbx & whole;
	__u32 x = 0;

	if (luajit_holds_round(env, s, o, base, pc) == LUAJIT_HOLDS)
		return luajit_begin_at(s, base, pc);
	if (luajit_is_on_stack(s, o, pc) || luajit_is_on_stack(s, o, -pc & whole))
		return luajit_begin_empty(s, luajit_is_on_stack(s, o, pc) ? pc : -pc & whole);
	if ((pc & LUAJIT_LINK_LUA) == LUAJIT_LINK_C)
		return luajit_begin_empty(s, saved);
	if (pc & LUAJIT_LINK_LUA)
		return luajit_begin_calling(env, s, o, base, pc);
	/* Being called, or left: what was there may be gone. */
	if (!luajit_read(env, &x, sizeof(x), pc - 4)) {
		calls = base - 8 * (1 + o->wide + EBP_LUAJIT_A(x));
		if (luajit_holds_round(env, s, o, calls, pc) == LUAJIT_HOLDS)
			return luajit_begin_at(s, calls, pc);
	}
	if (luajit_holds_round(env, s, o, saved, pc) == LUAJIT_HOLDS)
		return luajit_begin_at(s, saved, pc);
	/* On its way out of a trace, or called back. */
	if (!s->jit_base && base != saved)
		s->bad = 1;
	luajit_begin_at(s, s->jit_base ? s->jit_base : saved, 0);
}

/* Whether C was called here without a function of its own (lj_vm_cpcall). */
static __always_inline int luajit_is_bare(const struct luajit_state *s)
{
	return s->results < 0 && s->base - 8 < s->floor - s->results;
}

/*
 * The same where the interpreter has called C: it has its place in rbp, or has it written down,
 * with the thread in rbp.
 */
static __always_inline void luajit_begin_called(struct luajit_env *env, struct luajit_state *s,
						const struct ebp_luajit *o)
{
	__u64 link = 0;

	s->base = s->at.fp;
	s->pc = 0;
	if (s->at.fp == s->thread || luajit_read_slot(env, s, o, s->base, &link, 1) ||
	    !luajit_function(env, s, o, 1)) {
		s->base = luajit_in(s->state_words, LUAJIT_THREAD_WORDS, o->base);
		s->pc = s->saved_pc;
	}
	s->over = luajit_is_bare(s);
}

/*
 * Bytes from rsp to the caller's when the interpreter's frame is being made, or is about to go, by
 * the code there: push %rbp; push %rbx; push %r15; push %r14; sub $40, %rsp; and all of that back.
 * Just behind that registers are what was saved of them (or, where C calls back, what is near the
 * global state in rbp), and then the thread is in its place; all else are small functions without a
 * frame, that C calls.
 */
static __always_inline __u32 luajit_edge(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o)
{
	__u64 *w = s->words;

	for (__u32 i = 0; i < 2 * LUAJIT_PUSHED; i++) {
		__u64 code = 0;

		if (!luajit_read(env, &code, sizeof(code),
				 s->at.pc + 1 - (LUAJIT_BEHIND >> 4 * i & 15)) &&
		    code == (i < LUAJIT_PUSHED ? LUAJIT_ENTERS : LUAJIT_LEAVES))
			return (LUAJIT_THERE >> 4 * i & 15) * 8;
	}
	if (luajit_read(env, w, 16 * sizeof(*w), s->at.sp))
		return 8;
	return (w[6] == s->at.r15 && (w[5] == s->at.r14 || s->at.r14 - s->at.fp < LUAJIT_NEAR)) ||
			       !luajit_read_thread(env, s, o,
						   luajit_ref(o, w, LUAJIT_CHUNK, o->c_thread))
		       ? o->c_bytes
		       : 8;
}

/*
 * The same where C calls back by FFI, 0 elsewhere. For each function it may call there is
 * mov $n, %al; jmp to what is the same for many: push %rbp; mov $n, %ah; mov $global, %rbp;
 * jmp *n(%rip).
 */
static __always_inline __u32 luajit_callback(struct luajit_env *env, const struct luajit_state *s)
{
	__u64 code = 0;
	__u32 before, first, third;

	if (luajit_read(env, &code, sizeof(code), s->at.pc - 2))
		return 0;
	before = code & 0xff;
	first = code >> 16 & 0xff;
	third = code >> 32 & 0xff;
	if ((first == 0xb0 && (third == 0xeb || third == 0x55)) ||
	    (first == 0xeb && before == 0xb0))
		return 8;
	return (first == 0xb4 && (third == 0x48 || third == 0xbd)) ||
			       (before == 0xb4 && (first == 0x48 || first == 0xbd)) ||
			       (code >> 16 & 0xffff) == 0x25ff
		       ? 16
		       : 0;
}

/* A frame of @height bytes that has no functions. 0; negative: it is none. */
static __always_inline int luajit_begin_edge(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o, __u32 height)
{
	if (!height)
		return -1;
	s->thread = 0;
	s->over = 1;
	s->c_frame = s->at.sp + height - o->c_bytes;
	s->caller_fp = s->at.fp;
	if (height > 8 && luajit_read(env, &s->caller_fp, 8, s->at.sp + height - 16))
		return -1;
	return luajit_read(env, &s->return_to, 8, s->at.sp + height - 8);
}

/* Where the frame was looked for and @found. 0; negative: this is none of LuaJIT's code. */
static __always_inline int luajit_begin_first(struct luajit_env *env, struct luajit_state *s,
					      const struct ebp_luajit *o, int found)
{
	int traced = found && luajit_read_trace(env, s, o, &s->jit_base);
	int leaf = s->at.is_interpreter && s->at.exact;

	int apart = !found || s->c_frame - s->at.sp >= LUAJIT_STEP;

	if (leaf && apart && (!found || !s->jit_base))
		return luajit_begin_edge(env, s, o, luajit_edge(env, s, o));
	/* What leaves a trace has made room, and calls; and so does what begins a call back. */
	if (s->at.is_interpreter && !leaf && apart && (!found || s->at.fp != s->thread))
		return luajit_begin_edge(env, s, o, o->c_bytes);
	traced = traced && (s->at.is_interpreter ? leaf : luajit_is_of_trace(s));
	if (!traced && !s->at.is_interpreter)
		return s->at.exact ? luajit_begin_edge(env, s, o, luajit_callback(env, s)) : -1;
	if (!found || luajit_read_frame(env, s, o))
		return -1;
	s->base = s->jit_base;
	s->is_leaf = leaf && !traced;
	if (traced)
		luajit_begin_trace(env, s, o);
	else if (!leaf)
		luajit_begin_called(env, s, o);
	return 0;
}

/* Whether the thread's next frame is the one that s->at is in: s->c_frame then. */
static __always_inline int luajit_is_next(struct luajit_env *env, struct luajit_state *s,
					  const struct ebp_luajit *o)
{
	s->c_frame = s->next;
	return s->thread && s->base && s->next - s->at.sp < LUAJIT_SPAN &&
	       !luajit_read_frame(env, s, o);
}

/* First: looks for the frame on the C stack that s->at is in, or code that it has called. */
static __always_inline void luajit_find(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o)
{
	s->found = LUAJIT_IS_NEXT;
	s->before = s->thread;
	if (luajit_is_next(env, s, o))
		return;
	s->found = LUAJIT_IS_NOWHERE;
	for (__u32 i = 0; i < LUAJIT_CHUNKS && !s->found; i++)
		s->found = luajit_search_round(env, s, o, i) ? LUAJIT_IS_FIRST : LUAJIT_IS_NOWHERE;
}

/*
 * Then: where its innermost function is, but for a leaf's. 0: luajit_first() is to follow;
 * negative: this is none of LuaJIT's code.
 */
static __always_inline int luajit_begin(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o)
{
	int err = 0;

	s->over = s->bad = s->is_leaf = s->is_trace = 0;
	s->inlined.function = s->inlined.proto = 0;
	if (s->found == LUAJIT_IS_NEXT) {
		/* Its functions are below those that were walked. */
		s->pc = s->saved_pc;
		s->over = luajit_is_bare(s) || !luajit_is_on_stack(s, o, s->base);
	} else {
		err = luajit_begin_first(env, s, o, s->found);
	}
	if (err)
		s->thread = s->before;
	return err;
}

/* At last: the innermost function into s->caller, or s->inlined. */
static __always_inline void luajit_first(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o)
{
	struct luajit_call *c = &s->inlined;

	if (s->is_leaf)
		luajit_begin_leaf(env, s, o);
	luajit_next(env, s, o);
	if (!s->is_trace)
		return;
	if (c->proto && s->caller.proto != c->proto) {
		c->function = luajit_trace_function(s, o);
		return;
	}
	if (c->proto)
		s->caller.pc = c->pc;
	s->caller.is_trace = 1;
}

#endif
