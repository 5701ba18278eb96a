/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the functions of LuaJIT that one frame of the C stack runs.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct luajit_env` (opaque here) and
 *   int luajit_read(env, dst, size, address)	target memory: 0, or negative
 * and behind luajit_look_round(), luajit_search_round() and luajit_holds_round(): luajit_look_at(),
 * luajit_search() and luajit_holds(), by functions of their own where the verifier wants it.
 *
 * The interpreter (src/vm_x64.dasc, vm_x86.dasc) has a frame of fixed size on the C stack, with the
 * thread of Lua that it runs (lua_State), which leads back to that very frame where it is the last
 * one of the thread. Code of traces has made room below it: so the frame is looked for from the
 * stack pointer on. Frames on the thread's own stack (src/lj_frame.h) belong to it up to one that C
 * called; what is below is of the thread's next frame on the C stack.
 *
 * What runs in a trace is not on that stack: only how it was when the trace began, and where that
 * is. So a trace's frame stands for its first function, and for those that were inlined.
 *
 * Nothing that is read is trusted, and every offset is masked: a layout that does not fit gives no
 * frames, not wrong ones. A frame's place is the number of its instruction.
 */
#ifndef EBPROF_LUAJIT_STEP_H
#define EBPROF_LUAJIT_STEP_H

#include "bpf/frame.h"
#include "bpf/luajit.h"

#ifndef barrier_var
#define barrier_var(x) ((void)(x))
#endif

#define LUAJIT_CHUNKS	8	/* of the C stack that are looked through */
#define LUAJIT_CHUNK	32	/* words of one */
#define LUAJIT_STEP	16	/* bytes from a place where the frame may be to the next */
#define LUAJIT_PLACES	(LUAJIT_CHUNK * 8 / LUAJIT_STEP)
#define LUAJIT_SPAN	(LUAJIT_CHUNKS * LUAJIT_CHUNK * 8)

/* Types of objects. */
#define LUAJIT_THREAD	6u
#define LUAJIT_PROTO	7u
#define LUAJIT_FUNCTION	8u

/* How a frame links to the one below, in the low bits of its second word. */
#define LUAJIT_LINK	7u
#define LUAJIT_LINK_LUA	3u	/* none of these: the rest is an address of an instruction */
#define LUAJIT_LINK_C	1u	/* ... of these two bits */
#define LUAJIT_LINK_CONT 2u
#define LUAJIT_LINK_VARG 3u
#define LUAJIT_CALLBACK	1u	/* what goes on: C, that an FFI callback returns to */

#define LUAJIT_NEAR	0x4000		/* bytes from the global state to the table of instructions */
#define LUAJIT_ADDRESS	((1ull << 47) - 1)	/* of a value that has a type above it */
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

#define LUAJIT_THREAD_WORDS	12
#define LUAJIT_FUNCTION_WORDS	6
#define LUAJIT_PROTO_WORDS	13
#define LUAJIT_TRACE_WORDS	6
#define LUAJIT_BEFORE_MCODE	24	/* bytes of a trace that are read */

/* Of the C stack: where it is. */
struct luajit_place {
	__u64 pc, sp, fp;
	__u64 rdx, rbx, r14, r15;	/* of a leaf */
	__u64 row, row_end;	/* the mapping that has pc */
	__u32 exact;
	__u32 is_interpreter;	/* pc is in the interpreter; else in code that was made */
};

struct luajit_call {
	__u64 function;		/* 0: there is none */
	__u64 proto;		/* 0: it is C */
	__u64 code;		/* address of its instructions, or of the C function */
	__u64 source;
	__u32 first_line;
	__u32 pc;		/* number of its instruction; EBP_PLACE_NONE */
	__u32 is_trace;
	__u32 is_apart;		/* who called it is not known */
};

enum luajit_found {
	LUAJIT_IS_NOWHERE,
	LUAJIT_IS_FIRST,	/* the last frame of its thread */
	LUAJIT_IS_NEXT,		/* the next one, of the thread whose frames are walked */
};

struct luajit_state {
	__u64 c_frame;		/* on the C stack, whose functions are walked */
	__u64 thread;		/* that ran last; 0: none was met */
	__u64 next;		/* the thread's next frame on the C stack */
	__u64 base;		/* where on its own stack the next function is; 0: not known */
	__u64 pc;		/* address behind its instruction; 0: not known */
	__u64 floor, top;	/* of its own stack */
	__u32 over;		/* no more functions belong to this frame */
	__u32 bad;		/* ... because they could not be read */
	__u32 found;		/* enum luajit_found */
	__u32 is_leaf;		/* ... for luajit_begin_leaf() */
	__u64 jit_base;		/* where the innermost function of a trace is, as that began; 0: none */
	__u64 before;		/* the thread that ran last before this */
	struct luajit_place at;
	/* Of the frame on the C stack: */
	__u64 return_to, caller_fp, saved_pc;
	__s64 results;
	struct luajit_call inlined;	/* where a trace is, if no frame is its function's */
	struct luajit_call caller, frame;
	/* What the last step found: */
	__u64 code;		/* 0: no function that is shown */
	__u64 identity;		/* of that code and what it is called */
	__u64 cached;		/* the function whose words are there, and its GCproto's; 0: none */
	__u64 source, source_hash;
	__u64 chunk;		/* where what is looked through begins */
	__u64 slot[4];		/* the two words of a frame, and two below */
	__u64 state_words[LUAJIT_THREAD_WORDS];
	__u64 function_words[LUAJIT_FUNCTION_WORDS];
	__u64 proto_words[LUAJIT_PROTO_WORDS];
	__u64 trace_words[LUAJIT_TRACE_WORDS];
	__u64 words[LUAJIT_CHUNK];
};

static int luajit_look_round(struct luajit_env *env, struct luajit_state *s,
			     const struct ebp_luajit *o, __u32 i);
static int luajit_search_round(struct luajit_env *env, struct luajit_state *s,
			       const struct ebp_luajit *o, __u32 i);
static int luajit_holds_round(struct luajit_env *env, struct luajit_state *s,
			      const struct ebp_luajit *o, __u64 base, __u64 pc);

static __always_inline __u64 luajit_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static __always_inline __u64 luajit_in(const __u64 *words, __u32 n, __u32 offset)
{
	__u32 i = offset >> 3 & 31;

	return words[i < n ? i : 0];
}

static __always_inline __u32 luajit_half(const __u64 *words, __u32 n, __u32 offset)
{
	return (__u32)(luajit_in(words, n, offset) >> (offset & 4) * 8);
}

/* A reference in some words. */
static __always_inline __u64 luajit_ref(const struct ebp_luajit *o, const __u64 *words, __u32 n,
					__u32 offset)
{
	return o->wide ? luajit_in(words, n, offset) : luajit_half(words, n, offset);
}

#define LUAJIT_REF(s, o, kind, field) \
	luajit_ref(o, (s)->kind##_words, sizeof((s)->kind##_words) / 8, (o)->field)
#define LUAJIT_NUMBER(s, o, field) \
	luajit_half((s)->proto_words, LUAJIT_PROTO_WORDS, (o)->field)

static __always_inline __u32 luajit_type(const struct ebp_luajit *o, const __u64 *words, __u32 n)
{
	return luajit_in(words, n, o->type) >> (o->type & 7) * 8 & 255;
}

static __always_inline int luajit_may_be(__u64 address)
{
	return !(address & 3) && address >= 0x10000 && !(address >> 47);
}

/* --- The frame on the C stack. ------------------------------------------------ */

/* The thread at @thread into state_words. 0; negative: it is none. */
static __always_inline int luajit_read_thread(struct luajit_env *env, struct luajit_state *s,
					      const struct ebp_luajit *o, __u64 thread)
{
	if (!luajit_may_be(thread) ||
	    luajit_read(env, s->state_words, sizeof(s->state_words), thread) ||
	    luajit_type(o, s->state_words, LUAJIT_THREAD_WORDS) != LUAJIT_THREAD)
		return -1;
	s->floor = LUAJIT_REF(s, o, state, stack);
	s->top = LUAJIT_REF(s, o, state, stack_end) + 0x200;
	return 0;
}

/* Whether the frame is at place @i of the chunk: s->c_frame then, whose thread is s->thread. */
static __always_inline int luajit_look_at(struct luajit_env *env, struct luajit_state *s,
					  const struct ebp_luajit *o, __u32 i)
{
	__u64 word = s->words[i * 2 & (LUAJIT_CHUNK - 1)];
	__u64 at = s->chunk + i * LUAJIT_STEP;

	if (!o->wide)
		word = (__u32)(word >> (o->c_thread & 4) * 8);
	if (luajit_read_thread(env, s, o, word) ||
	    (luajit_in(s->state_words, LUAJIT_THREAD_WORDS, o->c_frame) & ~3ull) != at)
		return 0;
	s->c_frame = at;
	s->thread = word;
	return 1;
}

/* The words of chunk @i of those from the stack pointer on. 0, or negative. */
static __always_inline int luajit_read_chunk(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o, __u32 i)
{
	s->chunk = ((s->at.sp + LUAJIT_STEP - 1) & ~(LUAJIT_STEP - 1ull)) +
		   i * (LUAJIT_CHUNK * 8);
	return luajit_read(env, s->words, sizeof(s->words), s->chunk + (o->c_thread & ~7u));
}

/* Whether the frame is in chunk @i. */
static __always_inline int luajit_search(struct luajit_env *env, struct luajit_state *s,
					 const struct ebp_luajit *o, __u32 i)
{
	if (luajit_read_chunk(env, s, o, i))
		return 0;
	for (__u32 k = 0; k < LUAJIT_PLACES; k++)
		if (luajit_look_round(env, s, o, k))
			return 1;
	return 0;
}

/* What that frame says. 0, or negative. */
static __always_inline int luajit_read_frame(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o)
{
	__u64 *w = s->words;

	if (luajit_read(env, w, 16 * sizeof(*w), s->c_frame) ||
	    luajit_ref(o, w, LUAJIT_CHUNK, o->c_thread) != s->thread)
		return -1;
	s->saved_pc = luajit_ref(o, w, LUAJIT_CHUNK, o->c_pc);
	s->results = (__s32)luajit_half(w, LUAJIT_CHUNK, o->c_results);
	s->next = luajit_in(w, LUAJIT_CHUNK, o->c_previous) & ~3ull;
	s->return_to = luajit_in(w, LUAJIT_CHUNK, o->c_bytes - 8);
	s->caller_fp = luajit_in(w, LUAJIT_CHUNK, o->c_bytes - 16);
	return 0;
}

/* --- Functions on the thread's stack. ------------------------------------------ */

static __always_inline int luajit_is_on_stack(const struct luajit_state *s,
					      const struct ebp_luajit *o, __u64 base)
{
	return !(base & 7) && base > s->floor + 8 * (1 + o->wide) && base < s->top;
}

/* The frame at @base into s->slot, how it links to the one below into *@link. 0, or negative. */
static __always_inline int luajit_read_slot(struct luajit_env *env, struct luajit_state *s,
					    const struct ebp_luajit *o, __u64 base, __u64 *link)
{
	if (!luajit_is_on_stack(s, o, base) ||
	    luajit_read(env, s->slot, sizeof(s->slot), base - sizeof(s->slot)))
		return -1;
	*link = o->wide ? s->slot[3] : s->slot[3] >> 32;
	return 0;
}

/* The function in s->slot, into function_words, and where it is. 0: it is none. */
static __always_inline __u64 luajit_function(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o)
{
	__u64 at = o->wide ? s->slot[2] & LUAJIT_ADDRESS : (__u32)s->slot[3];

	if (at && at == s->cached)
		return at;
	s->cached = 0;
	if (!luajit_may_be(at) ||
	    luajit_read(env, s->function_words, sizeof(s->function_words), at) ||
	    luajit_type(o, s->function_words, LUAJIT_FUNCTION_WORDS) != LUAJIT_FUNCTION)
		return 0;
	return at;
}

/* Of the function in function_words: 0 Lua's, 1 C, else one that is the interpreter's own. */
static __always_inline __u32 luajit_kind(const struct luajit_state *s, const struct ebp_luajit *o)
{
	__u32 at = o->type + 1;

	return luajit_in(s->function_words, LUAJIT_FUNCTION_WORDS, at) >> (at & 7) * 8 & 255;
}

/* The number of the instruction before @pc; EBP_PLACE_NONE where it is none of the function's. */
static __always_inline __u32 luajit_number(__u64 pc, __u64 code, __u32 n)
{
	__u64 from = pc - code - 4;

	return from & 3 || from >> 2 >= n || from >> 2 >= EBP_PLACE_NONE ? EBP_PLACE_NONE
									   : (__u32)(from >> 2);
}

/* What is at @proto into @c. 0; negative: it is no function of Lua's. */
static __always_inline int luajit_take_proto(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o, __u64 proto,
					     struct luajit_call *c)
{
	if (!s->cached &&
	    (!luajit_may_be(proto) ||
	     luajit_read(env, s->proto_words, sizeof(s->proto_words), proto) ||
	     luajit_type(o, s->proto_words, LUAJIT_PROTO_WORDS) != LUAJIT_PROTO))
		return -1;
	c->proto = proto;
	c->is_trace = c->is_apart = 0;
	c->code = proto + o->proto_bytes;
	c->source = LUAJIT_REF(s, o, proto, source);
	c->first_line = LUAJIT_NUMBER(s, o, first_line);
	return 0;
}

/* The function in function_words, at @function, where it is behind @pc, into s->caller. */
static __always_inline int luajit_take_function(struct luajit_env *env, struct luajit_state *s,
						const struct ebp_luajit *o, __u64 function,
						__u64 pc)
{
	struct luajit_call *c = &s->caller;
	__u64 code = LUAJIT_REF(s, o, function, code);

	c->proto = c->source = 0;
	c->first_line = c->is_trace = c->is_apart = 0;
	c->pc = EBP_PLACE_NONE;
	if (luajit_kind(s, o) == 1)
		code = luajit_in(s->function_words, LUAJIT_FUNCTION_WORDS, o->c_function);
	c->code = code;
	if (!luajit_kind(s, o)) {
		if (luajit_take_proto(env, s, o, code - o->proto_bytes, c))
			return -1;
		s->cached = function;
		c->pc = luajit_number(pc, c->code, LUAJIT_NUMBER(s, o, ncode));
	}
	c->function = function;
	return 0;
}

/* From a frame with that @link to the one below. 0; negative: it leads nowhere. */
static __always_inline int luajit_leave(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o, __u64 link)
{
	__u32 instruction = 0;
	__u64 below = s->base;

	s->pc = 0;
	if (!(link & LUAJIT_LINK_LUA)) {
		if (luajit_read(env, &instruction, sizeof(instruction), link - 4))
			return -1;
		below -= 8 * (1 + o->wide + EBP_LUAJIT_A(instruction));
		s->pc = link;
	} else {
		below -= link & ~(__u64)LUAJIT_LINK;
		s->over = (link & LUAJIT_LINK_LUA) == LUAJIT_LINK_C;
	}
	if ((link & LUAJIT_LINK) == LUAJIT_LINK_CONT) {
		s->pc = o->wide ? s->slot[1] : s->slot[2] >> 32;
		s->over = (o->wide ? s->slot[0] : (__u32)s->slot[2]) == LUAJIT_CALLBACK;
	}
	if (below >= s->base)
		return -1;
	s->base = below;
	s->over |= !luajit_is_on_stack(s, o, below);
	return 0;
}

/* The next function into s->caller. 0; negative: it cannot be read. */
static __always_inline int luajit_read_next(struct luajit_env *env, struct luajit_state *s,
					    const struct ebp_luajit *o)
{
	__u64 link = 0, function;

	if (luajit_read_slot(env, s, o, s->base, &link))
		return -1;
	function = luajit_function(env, s, o);
	if (!function || luajit_take_function(env, s, o, function, s->pc))
		return -1;
	/* With a variable number of arguments it has two, one above the other. */
	if ((link & LUAJIT_LINK) == LUAJIT_LINK_VARG) {
		s->base -= link & ~(__u64)LUAJIT_LINK;
		if (luajit_read_slot(env, s, o, s->base, &link))
			return -1;
	}
	return luajit_leave(env, s, o, link);
}

/* The same, or none: there are no more, or it cannot be read. */
static __always_inline void luajit_next(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o)
{
	s->caller.function = s->caller.proto = 0;
	if (s->over || !luajit_read_next(env, s, o))
		return;
	s->bad = 1;
	s->caller.function = s->caller.proto = 0;
}

/* --- Where the innermost one is. ----------------------------------------------- */

enum luajit_holding { LUAJIT_NOTHING, LUAJIT_OTHER, LUAJIT_HOLDS };

/*
 * Whether the frame at @base is a function's that is at @pc, or one that is being called or left: the
 * interpreter has how it links in its place then, or what is left of that.
 */
static __always_inline int luajit_holds(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	__u64 link = 0, code;
	__u32 n = 0;

	if (luajit_read_slot(env, s, o, base, &link) || !luajit_function(env, s, o))
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

/* The innermost frame is the one with which the trace in trace_words began. */
static __always_inline void luajit_begin_trace(struct luajit_env *env, struct luajit_state *s,
					       const struct ebp_luajit *o)
{
	struct luajit_call *c = &s->inlined;
	__u64 first = o->wide ? s->trace_words[0] : s->trace_words[1] & 0xffffffff;
	__u64 pc = o->wide ? s->trace_words[1] : s->trace_words[1] >> 32;

	s->pc = s->cached = 0;
	if (!s->trace_words[3]) {
		luajit_next(env, s, o);
		s->caller.is_trace = 1;
		return;
	}
	if (luajit_take_proto(env, s, o, first, c)) {
		s->bad = 1;
		return;
	}
	c->pc = luajit_number(pc + 4, c->code, LUAJIT_NUMBER(s, o, ncode));
	c->is_trace = c->is_apart = 1;
	luajit_next(env, s, o);
	if (s->caller.proto != c->proto) {
		c->function = first;
		return;
	}
	s->caller.pc = c->pc;
	s->caller.is_trace = 1;
}

/* The frame at @base, at @pc; 0: that is not known. */
static __always_inline void luajit_begin_at(struct luajit_env *env, struct luajit_state *s,
					    const struct ebp_luajit *o, __u64 base, __u64 pc)
{
	s->base = base;
	s->pc = pc;
	luajit_next(env, s, o);
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
		luajit_begin_at(env, s, o, caller, from);
	else
		luajit_begin_at(env, s, o, base, 0);
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
		return luajit_begin_at(env, s, o, base, pc);
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
			return luajit_begin_at(env, s, o, calls, pc);
	}
	if (luajit_holds_round(env, s, o, saved, pc) == LUAJIT_HOLDS)
		return luajit_begin_at(env, s, o, saved, pc);
	/* On its way out of a trace, or called back. */
	if (!s->jit_base && base != saved)
		s->bad = 1;
	luajit_begin_at(env, s, o, s->jit_base ? s->jit_base : saved, 0);
}

/* Whether C was called here without a function of its own (lj_vm_cpcall). */
static __always_inline int luajit_is_bare(const struct luajit_state *s)
{
	return s->results < 0 && s->base - 8 < s->floor - s->results;
}

/*
 * The same where the interpreter has called C: it has its place in rbp, or has it written down, with
 * the thread in rbp.
 */
static __always_inline void luajit_begin_called(struct luajit_env *env, struct luajit_state *s,
						const struct ebp_luajit *o)
{
	__u64 link = 0;

	s->base = s->at.fp;
	s->pc = 0;
	if (s->at.fp == s->thread || luajit_read_slot(env, s, o, s->base, &link) ||
	    !luajit_function(env, s, o)) {
		s->base = luajit_in(s->state_words, LUAJIT_THREAD_WORDS, o->base);
		s->pc = s->saved_pc;
	}
	s->over = luajit_is_bare(s);
	luajit_next(env, s, o);
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
 * The same where C calls back by FFI, 0 elsewhere. For each function it may call there is mov $n, %al;
 * jmp to what is the same for many: push %rbp; mov $n, %ah; mov $global, %rbp; jmp *n(%rip).
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
 * Then: what is its innermost function. 0, and where s->is_leaf is set luajit_begin_leaf() is to
 * follow; negative: this is none of LuaJIT's code.
 */
static __always_inline int luajit_begin(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o)
{
	int err = 0;

	s->over = s->bad = s->is_leaf = 0;
	s->caller.function = s->caller.proto = s->inlined.function = 0;
	if (s->found == LUAJIT_IS_NEXT) {
		/* Its functions are below those that were walked. */
		s->pc = s->saved_pc;
		s->over = luajit_is_bare(s) || !luajit_is_on_stack(s, o, s->base);
		luajit_next(env, s, o);
	} else {
		err = luajit_begin_first(env, s, o, s->found);
	}
	if (err)
		s->thread = s->before;
	return err;
}

/* --- The step. ------------------------------------------------------------------ */

/* What tells the frame's code, by the name that its caller has for it, from others. */
static __always_inline __u64 luajit_identity(struct luajit_env *env, struct luajit_state *s)
{
	const struct luajit_call *f = &s->frame, *by = &s->caller;
	__u64 h = luajit_mix(f->proto ? f->proto : f->code, f->code ^ f->first_line);

	/* Before that is what changes while a string lives. */
	if (f->source && f->source != s->source) {
		s->source = s->source_hash = 0;
		if (!luajit_read(env, s->words, 4 * sizeof(__u64), f->source + 16)) {
			s->source = f->source;
			for (__u32 i = 0; i < 4; i++)
				s->source_hash = luajit_mix(s->source_hash, s->words[i]);
		}
	}
	if (f->source)
		h = luajit_mix(h, s->source_hash);
	if (by->proto && !f->is_apart)
		h = luajit_mix(luajit_mix(h, by->proto), by->pc);
	return h | 1;
}

/* One function of the frame under way; s->code 0: none that is shown. */
static __always_inline void luajit_step(struct luajit_env *env, struct luajit_state *s,
					const struct ebp_luajit *o)
{
	s->code = 0;
	if (s->inlined.function) {
		s->frame = s->inlined;
		s->inlined.function = 0;
	} else {
		s->frame = s->caller;
		luajit_next(env, s, o);
	}
	/* C that C called has no name. */
	if (!s->frame.function || (!s->frame.proto && !s->caller.proto))
		return;
	s->code = s->frame.code;
	s->identity = luajit_identity(env, s);
}

/* Whether the frame has no more functions. */
static __always_inline int luajit_is_over(const struct luajit_state *s)
{
	return s->bad || (!s->caller.function && !s->inlined.function);
}

#endif
