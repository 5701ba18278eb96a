/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the functions of LuaJIT that one frame of the C stack runs.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct luajit_env` (opaque here) and
 *   int luajit_read(env, dst, size, address)	target memory: 0, or negative
 * and may define LUAJIT_READ_NEAR(env, what, size, address): the same of what is read for
 * each frame, into an array or a variable that has room for more.
 * and behind luajit_look_round(): luajit_look_at(), by a function of its own where the verifier
 * wants it. Where a walk begins is in luajit_begin.h.
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

#ifndef LUAJIT_READ_NEAR
#define LUAJIT_READ_NEAR(env, what, size, address) luajit_read((env), &(what), (size), (address))
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

#define LUAJIT_ADDRESS	((1ull << 47) - 1)	/* of a value that has a type above it */
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
	__u32 is_leaf;		/* ... for luajit_first() */
	__u32 is_trace;		/* the first function's code is a trace's */
	__u32 reserved;
	__u64 jit_base;		/* where a trace's function is, as that began; 0: none */
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

/*
 * The frame at @base into s->slot, how it links to the one below into *@link. 0, or negative.
 * @near: a constant, 0 where there is no room for more on BPF's stack.
 */
static __always_inline int luajit_read_slot(struct luajit_env *env, struct luajit_state *s,
					    const struct ebp_luajit *o, __u64 base, __u64 *link,
					    int near)
{
	__u64 at = base - sizeof(s->slot);

	if (!luajit_is_on_stack(s, o, base) ||
	    (near ? LUAJIT_READ_NEAR(env, s->slot, sizeof(s->slot), at)
		  : luajit_read(env, s->slot, sizeof(s->slot), at)))
		return -1;
	*link = o->wide ? s->slot[3] : s->slot[3] >> 32;
	return 0;
}

/* The function in s->slot, into function_words, and where it is. 0: it is none. @near: the same. */
static __always_inline __u64 luajit_function(struct luajit_env *env, struct luajit_state *s,
					     const struct ebp_luajit *o, int near)
{
	__u32 size = sizeof(s->function_words);
	__u64 at = o->wide ? s->slot[2] & LUAJIT_ADDRESS : (__u32)s->slot[3];

	if (at && at == s->cached)
		return at;
	s->cached = 0;
	if (!luajit_may_be(at) ||
	    (near ? LUAJIT_READ_NEAR(env, s->function_words, size, at)
		  : luajit_read(env, s->function_words, size, at)) ||
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
	     LUAJIT_READ_NEAR(env, s->proto_words, sizeof(s->proto_words), proto) ||
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
		if (LUAJIT_READ_NEAR(env, instruction, sizeof(instruction), link - 4))
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

	if (luajit_read_slot(env, s, o, s->base, &link, 1))
		return -1;
	function = luajit_function(env, s, o, 1);
	if (!function || luajit_take_function(env, s, o, function, s->pc))
		return -1;
	/* With a variable number of arguments it has two, one above the other. */
	if ((link & LUAJIT_LINK) == LUAJIT_LINK_VARG) {
		s->base -= link & ~(__u64)LUAJIT_LINK;
		if (luajit_read_slot(env, s, o, s->base, &link, 1))
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

/* --- The step. ------------------------------------------------------------------ */

/* What tells the frame's code, by the name that its caller has for it, from others. */
static __always_inline __u64 luajit_identity(struct luajit_env *env, struct luajit_state *s)
{
	const struct luajit_call *f = &s->frame, *by = &s->caller;
	__u64 h = luajit_mix(f->proto ? f->proto : f->code, f->code ^ f->first_line);

	/* Before that is what changes while a string lives. */
	if (f->source && f->source != s->source) {
		s->source = s->source_hash = 0;
		if (!LUAJIT_READ_NEAR(env, s->words, 4 * sizeof(__u64), f->source + 16)) {
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
