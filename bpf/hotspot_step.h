/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over a frame of HotSpot's code, x86-64: from it to its caller's.
 *
 * The same code is compiled for BPF and natively, behind unwind_step.h, whose state and
 * env_read() it works with; the includer defines hotspot_search_round(). Nothing that is read is
 * trusted: offsets are masked, and a return address of Java code counts only where it lies in the
 * code cache, which it always does.
 *
 * Frames (src/hotspot/cpu/x86/frame_x86.hpp). Interpreted: from the frame pointer downward the
 * caller's stack pointer, that of the last call, the method; somewhere below the address of the
 * bytecode. Compiled: of the size that their CodeBlob has, with the return address and the
 * caller's frame pointer in their two highest words. All else has a frame pointer, or no frame.
 */
#ifndef EBPROF_HOTSPOT_STEP_H
#define EBPROF_HOTSPOT_STEP_H

#include "bpf/hotspot_stubs.h"

/* --- From a frame to its caller's. ------------------------------------------ */

/* At most: bytes of the interpreter's code that begins a method; of arguments and locals. */
#define HOTSPOT_ENTRY_BYTES 4096
#define HOTSPOT_ARGUMENTS   (HOTSPOT_SPAN / 2)

/* Whether a method is about to begin: it is in rbx, and the caller's stack pointer in r13. */
static __always_inline int hotspot_is_entering(struct unwind_env *env,
					       const struct unwind_state *u,
					       const struct ebp_hotspot *o)
{
	__u64 begin;

	if (u->regs.r[13] - u->sp >= HOTSPOT_ARGUMENTS || u->regs.r[13] & 7)
		return 0;
	begin = hotspot_pointer(env, u->regs.r[3] + o->method_entry);
	return begin && u->pc - begin < HOTSPOT_ENTRY_BYTES;
}

/* The caller of such a frame: the return address lies on the stack or is in rax. */
static __always_inline int hotspot_entering(struct unwind_env *env, struct unwind_state *u,
					    struct hotspot_state *s)
{
	__u64 top[2] = {}, *own = s->own, r13 = u->regs.r[13], ra;

	s->method = u->regs.r[3];
	if (env_read(env, top, sizeof(top), u->sp))
		return -1;
	if (u->fp >= u->sp && u->fp < r13) {
		if (env_read(env, own, 16, u->fp))
			return -1;
		return hotspot_leave(u, s, own[1], r13, own[0]);
	}
	ra = hotspot_is_code(s, top[0])	       ? top[0]
	     : hotspot_is_code(s, u->regs.r[0]) ? u->regs.r[0]
						: top[1];
	return hotspot_leave(u, s, ra, r13, u->fp);
}

#define HOTSPOT_POP_R13		0x5d41ull
#define HOTSPOT_RSP_RBX		0xdc8948ull	/* mov %rbx, %rsp, in either of its forms */
#define HOTSPOT_RSP_RBX_2	0xe38b48ull
#define HOTSPOT_JUMP_R13	0xe5ff41ull

/*
 * The last instructions of an interpreted method, when its frame is gone: pop %r13; mov %rbx, %rsp;
 * jmp *%r13. Positive: it is not at them.
 */
static __always_inline int hotspot_leaving(struct unwind_env *env, struct unwind_state *u,
					   struct hotspot_state *s)
{
	__u64 code = hotspot_pointer(env, u->pc);

	if ((code & 0xffff) == HOTSPOT_POP_R13)
		return hotspot_leave(u, s, hotspot_pointer(env, u->sp), u->regs.r[3], u->fp);
	code &= 0xffffff;
	if (code == HOTSPOT_RSP_RBX || code == HOTSPOT_RSP_RBX_2)
		return hotspot_leave(u, s, u->regs.r[13], u->regs.r[3], u->fp);
	if (code == HOTSPOT_JUMP_R13)
		return hotspot_leave(u, s, u->regs.r[13], u->sp, u->fp);
	return 1;
}

/*
 * Words below the frame pointer that each frame has, at most: behind that of the bytecode is one
 * more.
 */
#define HOTSPOT_FIXED	9

static __always_inline int hotspot_interpreted(struct unwind_env *env, struct unwind_state *u,
					       struct hotspot_state *s,
					       const struct ebp_hotspot *o)
{
	__u64 fp = u->fp, sp;
	int err;

	s->kind = HOTSPOT_INTERPRETED;
	if (u->exact) {
		if (hotspot_is_entering(env, u, o))
			return hotspot_entering(env, u, s);
		err = hotspot_leaving(env, u, s);
		if (err <= 0)
			return err;
		s->bcp = u->regs.r[13];
	}
	if (fp < u->sp || fp - u->sp > HOTSPOT_SPAN || fp & 7 ||
	    fill_window(env, u, fp - HOTSPOT_FIXED * 8, fp + 16))
		return -1;
	/* The frame is being made: its method is still in rbx. */
	s->method = fp - u->sp < ((o->bcp & 15) + 1) * 8ull && u->exact ? u->regs.r[3]
									 : window_word(u, fp - 24);
	s->saved_bcp = window_word(u, fp - 8 * (o->bcp & 15));
	sp = window_word(u, fp - 8);
	if (sp < fp + 16 || sp - fp > HOTSPOT_SPAN)
		sp = fp + 16;
	return hotspot_leave(u, s, window_word(u, fp + 8), sp, window_word(u, fp));
}

#define HOTSPOT_BEFORE 24	/* bytes of code before a leaf's pc that are looked at */

/*
 * Whether a compiled method's frame is there in the midst of its making, by the bytes before its
 * pc: sub $n, %rsp is over. With it goes where the caller's frame pointer is: 1 on the stack, -1
 * still in its register, because mov %rbp, n(%rsp) comes next. 0: the frame is not there.
 */
static __always_inline int hotspot_is_made(const struct hotspot_state *s)
{
	const __u8 *c = s->text;
	int made = 0;

	for (int i = 0; i <= HOTSPOT_BEFORE - 4; i++) {
		/* Numbers of one byte (83) or four (81). No branch, for the verifier's sake. */
		__u32 either = i <= HOTSPOT_BEFORE - 7 ? 0x83 ^ 0x81 : 0;
		__u32 other = (c[i] ^ 0x48) | (c[i + 2] ^ 0xec) | ((c[i + 1] | either) ^ 0x83);

		made |= (other - 1) >> 31;
	}
	c += HOTSPOT_BEFORE;
	return made && c[0] == 0x48 && c[1] == 0x89 && (c[2] == 0x6c || c[2] == 0xac) ? -1 : made;
}

/* Else, the words on the stack up to the caller's: push %rbp may be over, and mov %rsp, %rbp. */
static __always_inline int hotspot_pushed(const struct hotspot_state *s)
{
	const __u8 *c = s->text + HOTSPOT_BEFORE;

	return c[-1] == 0x55 || (c[-3] == 0x48 && ((c[-2] == 0x8b && c[-1] == 0xec) ||
						    (c[-2] == 0x89 && c[-1] == 0xe5)))
		       ? 2
		       : 1;
}

/*
 * Words on the stack up to the caller's of a leaf that is about to leave; 0: its frame is whole.
 * Between pop %rbp and ret is a poll of the safepoint: cmp n(%r15), %rsp; ja; or mov n(%r15), %r10;
 * test %eax, (%r10); or test %eax, n(%rip).
 */
static __always_inline int hotspot_left(const struct hotspot_state *s)
{
	const __u8 *c = s->text + HOTSPOT_BEFORE;

	if (c[0] == 0x5d)
		return 2;
	return c[-1] == 0x5d || c[0] == 0xc3 ||
	       (c[0] == 0x49 && c[1] == 0x3b && (c[2] & 0x3f) == 0x27) ||
	       (c[0] == 0x41 && c[1] == 0x85 && c[2] == 0x02 && c[3] == 0xc3) ||
	       (c[6] == 0xc3 && ((c[0] == 0x0f && c[1] == 0x87) || (c[0] == 0x85 && c[1] == 0x05)));
}

#define HOTSPOT_PUSHED 3	/* words that code has pushed in its midst, to pop them soon */

/* A leaf of a blob with frames of a size. */
static __always_inline int hotspot_sized_leaf(struct unwind_env *env, struct unwind_state *u,
					      struct hotspot_state *s, const struct ebp_hotspot *o,
					      __u64 size)
{
	__s64 complete = o->flags & EBP_HOTSPOT_SHORT
				 ? (__s16)(hotspot_word(s, o->blob_complete) >>
					   (o->blob_complete & 7) * 8)
				 : (__s32)hotspot_half(s, o->blob_complete);
	__u64 top[2] = {}, cfa = u->sp + size;
	int words = 0, made = 1;

	if (env_read(env, s->text, sizeof(s->text), u->pc - HOTSPOT_BEFORE) ||
	    env_read(env, top, sizeof(top), u->sp))
		return -1;
	/* Code that is no method's does not say where its frame is made. */
	if (s->kind == HOTSPOT_STUB) {
		words = !!hotspot_called(env, s, top[0]);
	} else if ((__s64)(u->pc - s->code) >= complete) {
		words = hotspot_left(s);
	} else {
		made = hotspot_is_made(s);
		if (!made)
			words = hotspot_pushed(s);
	}
	if (words == 1)
		return hotspot_leave(u, s, top[0], u->sp + 8, u->fp);
	if (words == 2)
		return hotspot_leave(u, s, top[1], u->sp + 16, top[0]);
	if (s->kind == HOTSPOT_STUB) {
		/* It may still save registers, or have put them back. */
		if (!hotspot_linked(env, u, s))
			return 0;
		words = hotspot_handling(env, u, s);
		if (words <= 0)
			return words;
	}
	if (fill_window(env, u, cfa - 16, cfa + 8 * HOTSPOT_PUSHED))
		return -1;
	/* Native methods have a longer end. */
	if (!hotspot_is_code(s, window_word(u, cfa - 8)) && hotspot_is_code(s, top[0]))
		return hotspot_leave(u, s, top[0], u->sp + 8, u->fp);
	for (int i = 0; i < HOTSPOT_PUSHED && !hotspot_is_code(s, window_word(u, cfa - 8)); i++)
		cfa += 8;
	return hotspot_leave(u, s, window_word(u, cfa - 8), cfa,
			     made < 0 ? u->fp : window_word(u, cfa - 16));
}

#define HOTSPOT_SAVED 100	/* words: 16 registers, and as many of 256 bits */
#define HOTSPOT_ROUND 20	/* of them at once */

/*
 * From @cfa upward in the window to the first word that is an address of code: how many words
 * further that is, at most HOTSPOT_ROUND.
 */
static __always_inline int hotspot_search(const struct unwind_state *u,
					  const struct hotspot_state *s, __u64 cfa)
{
	int i;

	for (i = 0; i < HOTSPOT_ROUND; i++)
		if (hotspot_is_code(s, window_word(u, cfa + i * 8 - 8)))
			break;
	return i;
}

/* The includer's, who may have it as a function that the verifier looks at once. */
static int hotspot_search_round(const struct unwind_state *u, const struct hotspot_state *s,
				__u64 cfa);

/* A blob whose frames have a size. */
static __always_inline int hotspot_sized(struct unwind_env *env, struct unwind_state *u,
					 struct hotspot_state *s, const struct ebp_hotspot *o,
					 __u64 size)
{
	__u64 cfa = u->sp + size;

	if (u->exact)
		return hotspot_sized_leaf(env, u, s, o, size);
	if (fill_window(env, u, cfa - 16, cfa))
		return -1;
	/* A slow path may have saved registers, as those of barriers do. */
	for (int i = 0; i < HOTSPOT_SAVED / HOTSPOT_ROUND; i++) {
		int words = hotspot_search_round(u, s, cfa);

		cfa += words * 8ll;
		if (words < HOTSPOT_ROUND)
			break;
	}
	if (cfa > u->window_end)
		return -1;
	return hotspot_leave(u, s, window_word(u, cfa - 8), cfa, window_word(u, cfa - 16));
}

/*
 * From the frame of @u, whose code lies at an address of its own, to its caller's. 0, or
 * STEP_DONE(); HOTSPOT_OTHER: it is not in the code cache, and nothing has changed; what is below
 * that: hotspot_finish() has to find the caller.
 */
static __always_inline int hotspot_step(struct unwind_env *env, struct unwind_state *u,
					struct hotspot_state *s, const struct ebp_hotspot *o)
{
	__u64 size;
	int err;

	s->blob = s->method = s->bcp = s->saved_bcp = 0;
	s->pc = u->pc;
	s->exact = u->exact;
	if (!hotspot_is_code(s, u->pc))
		return HOTSPOT_OTHER;
	if (u->pc >= s->interpreter && u->pc < s->interpreter_end) {
		err = hotspot_interpreted(env, u, s, o);
	} else {
		if (hotspot_read_blob(env, s, o, u->pc))
			return HOTSPOT_OTHER;
		size = (__u64)(hotspot_half(s, o->blob_frame) & 0xffff) * 8;
		if (size == HOTSPOT_NO_SIZE)
			return HOTSPOT_FRAMELESS;
		if (size < 16)
			return HOTSPOT_UNSIZED;
		err = hotspot_sized(env, u, s, o, size);
	}
	if (err && s->method)
		return STEP_DONE(EBP_NO_CFI);
	return err ? HOTSPOT_GUESS : 0;
}

/*
 * What hotspot_step() has left, apart from it for the sake of the stack that BPF programs have. 0,
 * STEP_DONE() or STEP_GAP.
 */
static __always_inline int hotspot_finish(struct unwind_env *env, struct unwind_state *u,
					  struct hotspot_state *s, int done)
{
	if (done == HOTSPOT_FRAMELESS)
		return hotspot_frameless(env, u, s) ? STEP_DONE(EBP_NO_CFI) : 0;
	if (done == HOTSPOT_UNSIZED)
		done = hotspot_unsized(env, u, s) ? HOTSPOT_GUESS : 0;
	return done == HOTSPOT_GUESS ? STEP_GAP : done;
}

#endif
