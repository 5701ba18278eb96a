/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The step over frames of HotSpot's code that is no method's and has no size of frames, x86-64
 * (src/hotspot/cpu/x86/c1_Runtime1_x86.cpp, stubGenerator_x86_64.cpp, sharedRuntime_x86_64.cpp).
 */
#ifndef EBPROF_HOTSPOT_STUBS_H
#define EBPROF_HOTSPOT_STUBS_H

#include "bpf/hotspot_code.h"

#define HOTSPOT_STUB_BYTES 16384	/* from where a stub begins to where it is, at most */

/*
 * Where in the blob, a little before the pc, what returns to @ra called it; 0: it did not. What a
 * stub has on its stack may be an old return address.
 */
static __always_inline __u64 hotspot_called(struct unwind_env *env, struct hotspot_state *s,
					  __u64 ra)
{
	__u64 *code = s->call, target;

	if (!hotspot_is_code(s, ra) || env_read(env, code, sizeof(s->call), ra - sizeof(s->call)))
		return 0;
	if (code[1] >> 40 == 0xd2ff41)		/* mov $target, %r10; call *%r10 */
		target = code[0] >> 40 | code[1] << 24;
	else if ((code[1] >> 24 & 0xff) == 0xe8)	/* call target */
		target = ra + (__u64)(__s64)(__s32)(code[1] >> 32);
	else
		return 0;
	return target >= s->code && s->pc - target < HOTSPOT_STUB_BYTES ? target : 0;
}

/* The frame that a stub has made, where what called it is behind the frame pointer. 0: it is. */
static __always_inline int hotspot_linked(struct unwind_env *env, struct unwind_state *u,
					  struct hotspot_state *s)
{
	if (u->fp < u->sp || env_read(env, s->own, 16, u->fp) || !hotspot_called(env, s, s->own[1]))
		return -1;
	return hotspot_leave(u, s, s->own[1], u->fp + 16, s->own[0]);
}

#define HOTSPOT_POP_RCX		0xe1ff59ull	/* pop %rcx; jmp *%rcx */
#define HOTSPOT_JUMP_RCX	0xe1ffull

/*
 * The last instructions of handle_exception_from_callee, when its frame is gone: it has put the
 * handler's address where the return address was. Positive: it is not at them.
 */
static __always_inline int hotspot_handling(struct unwind_env *env, struct unwind_state *u,
					    struct hotspot_state *s)
{
	__u64 code = hotspot_pointer(env, u->pc);

	if ((code & 0xffffff) == HOTSPOT_POP_RCX)
		return hotspot_leave(u, s, hotspot_pointer(env, u->sp), u->sp + 8, u->fp);
	if ((code & 0xffff) == HOTSPOT_JUMP_RCX)
		return hotspot_leave(u, s, u->regs.r[2], u->sp, u->fp);
	return 1;
}

/* --- C1's runtime, where it says no size. ----------------------------------- */

#define HOTSPOT_NO_SIZE		(0xffffull * 8)		/* it says -1 words */
#define HOTSPOT_SUB_8		0x08ec8348u		/* sub $8, %rsp */
#define HOTSPOT_ADD_8		0x08c48348u
#define HOTSPOT_PUSH_RBP	0x55
/* slow_subtype_check: push %rdi; push %rsi; push %rcx; push %rax */
#define HOTSPOT_SUBTYPE		0x50515657u
#define HOTSPOT_SUBTYPE_WORDS	4
#define HOTSPOT_SUBTYPE_ARGUMENTS 16	/* bytes on the stack, that its caller pops */
#define HOTSPOT_SUBTYPE_MORE	14	/* from its beginning to where it may save more */
/* unwind_exception: mov %rax, %r14, in either of its forms */
#define HOTSPOT_UNWIND		0xf08b4cu
#define HOTSPOT_UNWIND_2	0xc68949u

/* Words that slow_subtype_check is going to pop before it returns, by its code at @pc. */
static __always_inline __u32 hotspot_pops(__u32 code)
{
	return (code & 0xff) == 0xc3	     ? 0
	       : (code & 0xffff) == 0xc35f   ? 1
	       : (code & 0xffffff) == 0xc35f5e ? 2
	       : code == 0xc35f5e59	     ? 3
					     : HOTSPOT_SUBTYPE_WORDS;
}

/*
 * The caller of slow_subtype_check. No word between is looked at that may be an old return address:
 * at most it has four registers on its stack, or these and, since JDK 23, sub $n, %rsp.
 */
static __always_inline int hotspot_subtype(struct unwind_env *env, struct unwind_state *u,
					   struct hotspot_state *s)
{
	__u64 words = u->pc - s->code, more, sp, ra;

	if (words > HOTSPOT_SUBTYPE_WORDS)
		words = hotspot_pops((__u32)hotspot_pointer(env, u->pc));
	sp = u->sp + words * 8;
	ra = hotspot_pointer(env, sp);
	if (words == HOTSPOT_SUBTYPE_WORDS && !hotspot_called(env, s, ra)) {
		more = hotspot_pointer(env, s->code + HOTSPOT_SUBTYPE_MORE);
		if ((more & 0xffffff) != (HOTSPOT_SUB_8 & 0xffffff))
			return -1;
		sp += more >> 24 & 0xf8;
		ra = hotspot_pointer(env, sp);
	}
	if (!hotspot_called(env, s, ra))
		return -1;
	return hotspot_leave(u, s, ra, sp + 8 + HOTSPOT_SUBTYPE_ARGUMENTS, u->fp);
}

/*
 * The caller of the method that jumped to unwind_exception, whose frame is gone. It aligns the
 * stack for a call.
 */
static __always_inline int hotspot_unwinding(struct unwind_env *env, struct unwind_state *u,
					     struct hotspot_state *s)
{
	__u64 sp = u->sp;

	if ((__u32)hotspot_pointer(env, u->pc) == HOTSPOT_ADD_8 ||
	    (u->exact && (__u32)hotspot_pointer(env, u->pc - 4) == HOTSPOT_SUB_8))
		sp += 8;
	return hotspot_leave(u, s, hotspot_pointer(env, sp), sp + 8, u->fp);
}

/* Barriers have a frame pointer; all others have nothing on the stack, or one word. */
static __always_inline int hotspot_frameless(struct unwind_env *env, struct unwind_state *u,
					     struct hotspot_state *s)
{
	__u64 code = hotspot_pointer(env, s->code), *top = s->own;

	if ((__u32)code == HOTSPOT_SUBTYPE)
		return hotspot_subtype(env, u, s);
	code &= 0xffffff;
	if (code == HOTSPOT_UNWIND || code == HOTSPOT_UNWIND_2)
		return hotspot_unwinding(env, u, s);
	if (!hotspot_linked(env, u, s))
		return 0;
	if (env_read(env, top, 16, u->sp))
		return -1;
	if (hotspot_called(env, s, top[0]))
		return hotspot_leave(u, s, top[0], u->sp + 8, u->fp);
	if (!hotspot_called(env, s, top[1]))
		return -1;
	code = hotspot_pointer(env, u->pc - 1) & 0xff;
	return hotspot_leave(u, s, top[1], u->sp + 16, code == HOTSPOT_PUSH_RBP ? top[0] : u->fp);
}

/* --- Adapters, StubRoutines and the like. ------------------------------------ */

/*
 * The stub that methods call when they begin, for the garbage collector, has -1 between its frame
 * pointer and its return address.
 */
static __always_inline int hotspot_barrier(struct unwind_env *env, struct unwind_state *u,
					   struct hotspot_state *s)
{
	if (u->fp < u->sp || env_read(env, s->own, sizeof(s->own), u->fp) || s->own[1] != ~0ull)
		return -1;
	return hotspot_leave(u, s, s->own[2], u->fp + sizeof(s->own), s->own[0]);
}

#define HOTSPOT_FIXUP		0x50	/* push %rax */
#define HOTSPOT_FIXUP_WORDS	5

/*
 * The caller of a conversion of what the CPU does not convert (d2l_fixup and the like of
 * StubRoutines): it pushes up to five registers, %rax first. 0: it is.
 */
static __always_inline int hotspot_fixup(struct unwind_env *env, struct unwind_state *u,
					 struct hotspot_state *s)
{
	__u64 sp = u->sp, target = 0;

	if (fill_window(env, u, sp, sp + 8 * (HOTSPOT_FIXUP_WORDS + 1)))
		return -1;
	for (int i = 0; i < HOTSPOT_FIXUP_WORDS && !target; i++) {
		sp += 8;
		target = hotspot_called(env, s, window_word(u, sp));
	}
	if (!target || (hotspot_pointer(env, target) & 0xff) != HOTSPOT_FIXUP)
		return -1;
	return hotspot_leave(u, s, window_word(u, sp), sp + 8, u->fp);
}

#define HOTSPOT_ADAPTED 2048	/* bytes of arguments that an adapter moves, at most */

/* A leaf of code without frames: adapters, and stubs at their beginning. */
static __always_inline int hotspot_unsized(struct unwind_env *env, struct unwind_state *u,
					   struct hotspot_state *s)
{
	__u64 top = hotspot_pointer(env, u->sp), r13 = u->regs.r[13], sp = u->sp + 8, own;

	if (!hotspot_barrier(env, u, s))
		return 0;
	if (!u->exact)
		return -1;
	if (hotspot_called(env, s, top))
		return hotspot_leave(u, s, top, sp, u->fp);
	own = hotspot_pointer(env, u->sp + 8);
	if (hotspot_called(env, s, own))
		return hotspot_leave(u, s, own, sp + 8, top);
	/* Anything else that has a frame pointer is left by it. */
	if (hotspot_called(env, s, hotspot_pointer(env, u->fp + 8)))
		return -1;
	if (!hotspot_fixup(env, u, s))
		return 0;
	if (s->name << 8 == HOTSPOT_ADAPTER << 8 || !s->name) {
		/* What it makes of arguments lies below the caller's. */
		if (!hotspot_is_code(s, top)) {
			top = u->regs.r[0];
			sp = u->sp;
		}
		if (r13 - u->sp < HOTSPOT_ADAPTED && !(r13 & 7))
			sp = r13;
	}
	return hotspot_leave(u, s, top, sp, u->fp);
}

#endif
