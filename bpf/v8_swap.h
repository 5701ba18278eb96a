/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames that V8 is about to swap for others, in a call of C by a builtin whose frame pointer does
 * not lead to its caller. As v8_step.h, for BPF and user space alike.
 *
 * What the builtin does behind that call tells which it is, for it takes the same words from there
 * (V8's sources: src/builtins/x64/builtins-x64.cc; seen of V8 7 to 14).
 */
#ifndef EBPROF_V8_SWAP_H
#define EBPROF_V8_SWAP_H

#include "bpf/v8_step.h"

enum v8_swap {
	V8_SWAP_NONE,
	/*
	 * Optimized code is undone, and its frame was popped. An object (Deoptimizer) has its
	 * caller.
	 */
	V8_SWAP_UNDONE,
	/* The interpreter's frame goes on in compiled code. The builtin's has no return address. */
	V8_SWAP_BASELINE,
};

#define V8_SWAP_CODE	32	/* bytes behind the call that are looked at */
/* From the stack pointer to the frame pointer at most; it may be below, too. */
#define V8_SWAP_FRAME	24

/*
 * How long the code that begins with @head is, if it stores a 0: `movq $0, n(%r13)`, or (V8 7 and
 * 8) `mov n(%rip), %r10; movq $0, (%r10)`. 0: it is something else.
 */
static __always_inline __u32 v8_clears(__u64 head)
{
	__u32 three = head & 0xffffff;

	return three == 0x45c749 ? 8 : three == 0x85c749 ? 11 : three == 0x158b4c ? 14 : 0;
}

#define V8_RESTORES 0x24248b48u		/* mov (%rsp), %rsp */

/*
 * What the code at @words, of V8_SWAP_CODE bytes, does, which a call of C returns to. It takes its
 * stack pointer back and stores that the call is over, in either order. @field: where in its object
 * V8_SWAP_UNDONE finds the caller.
 */
static __always_inline enum v8_swap v8_swap(const __u64 *words, __u32 *field)
{
	int first = (__u32)words[0] == V8_RESTORES;
	__u32 clears = v8_clears(first ? words[0] >> 32 : words[0]), then = (__u32)words[1];
	__u64 next = words[1] >> 32 | words[2] << 32;

	if (clears == 11) {
		then = (__u32)(words[1] >> 24);
		next = words[1] >> 56 | words[2] << 8;
	} else if (clears == 14) {
		then = (__u32)(words[1] >> 48 | words[2] << 16);
		next = words[2] >> 16 | words[3] << 48;
	}
	if (!clears || (!first && then != V8_RESTORES))
		return V8_SWAP_NONE;
	*field = next >> 32 & 0x7f;
	/* pop %rax; mov n(%rax), %rsp */
	if ((__u32)next == 0x608b4858)
		return V8_SWAP_UNDONE;
	/* mov %rbp, %rsp; pop %rbp; and, where others return, mov or lea */
	if ((__u32)next == 0x5de58b48 && (next >> 32 & 0xf9ff) == 0x8948)
		return V8_SWAP_BASELINE;
	return V8_SWAP_NONE;
}

/*
 * The function that is undone, and its caller in s->words: V8_CALLER_SP, V8_CALLER_FP and
 * V8_CALLER_PC. @sp: of the builtin, @field as of v8_swap(). 0, or negative: it is not known (yet).
 */
static __always_inline int v8_undone(struct v8_env *env, struct v8_state *s,
				     const struct ebp_v8 *o, __u64 sp, __u32 field)
{
	__u64 before = 0, at = 0, function = 0;

	/* The stack pointer before it was aligned for the call; there is the object. */
	if (v8_read(env, &before, sizeof(before), sp) || (before != sp + 8 && before != sp + 16) ||
	    v8_read(env, &at, sizeof(at), before) ||
	    v8_read(env, s->words + V8_CALLER_SP, 3 * sizeof(__u64), at + field) ||
	    s->words[V8_CALLER_SP] != before + 8 ||
	    s->words[V8_CALLER_FP] <= s->words[V8_CALLER_SP] || !s->words[V8_CALLER_PC] ||
	    v8_read(env, &function, sizeof(function), at + 8))
		return -1;
	v8_take_typed(s, EBP_V8_WASM, o->wasm_frame);
	if (!function && o->wasm_frame)
		return 0;
	if (v8_function(env, s, o, function))
		return -1;
	s->kind = EBP_V8_UNPLACED;
	s->identity = v8_identity(s, o);
	return 0;
}

#endif
