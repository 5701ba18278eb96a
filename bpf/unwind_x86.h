/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * x86-64's part of the unwinding step (System V psABI, 3.2.2, 3.7;
 * arch/x86/include/uapi/asm/sigcontext.h).
 */
#ifndef EBPROF_UNWIND_X86_H
#define EBPROF_UNWIND_X86_H

#define REG_FP	6	/* rbp */
#define REG_SP	7
#define REG_PC	16
#define REG_MASK 15
#define CODE_TELLS 1	/* env_code() may know a rule, of files that have CFI elsewhere */
/* known in every frame, not only in exact ones: a bit each */
#define KEPT(s) (1u << REG_FP | 1u << REG_SP)
#define UPROBE_SLOT(s) ((s)->sp - 8)	/* where the return address was */
#define LEAF_LR(s) 0
#define ADDRESS(return_address) (return_address)
#define IS_GUESS(rule) ((rule) & EBP_RULE_FP_BASE)
#define GUESS_ENDS(s) 0
#define LEAVE_JUMPED(env, s) (TAKES(PHP) && leave_jumped((env), (s)))

#include "bpf/unwind_exotic.h"

#define UCONTEXT_GREGS 40	/* of the signal frame's struct ucontext: uc_mcontext */
#define GREGS	17		/* r8-r15 rdi rsi rbp rbx rdx rax rcx rsp rip */
#define CODE_BYTES 16

static __always_inline int signal_frame(struct unwind_env *env, struct unwind_state *s)
{
	__u64 *g = s->words;

	s->window = s->window_end = 0;
	if (env_read(env, g, GREGS * 8, s->sp + UCONTEXT_GREGS))
		return STEP_DONE(EBP_UNREADABLE);
	s->jumps += g[15] <= s->sp;
	s->regs.r[8] = g[0]; s->regs.r[9] = g[1]; s->regs.r[10] = g[2]; s->regs.r[11] = g[3];
	s->regs.r[12] = g[4]; s->regs.r[13] = g[5]; s->regs.r[14] = g[6]; s->regs.r[15] = g[7];
	s->regs.r[5] = g[8]; s->regs.r[4] = g[9]; s->regs.r[6] = g[10]; s->regs.r[3] = g[11];
	s->regs.r[1] = g[12]; s->regs.r[0] = g[13]; s->regs.r[2] = g[14]; s->regs.r[7] = g[15];
	s->fp = g[10];
	s->sp = g[15];
	s->pc = g[16];
	s->exact = 1;
	if (s->jumps > JUMPS_MAX)
		return STEP_DONE(EBP_BAD_CFA);
	return s->pc ? 0 : STEP_DONE(EBP_ZERO_RETURN);
}

/*
 * `mov $15, %rax; syscall` (rt_sigreturn) in its two lengths: what musl and Go return from handlers
 * by.
 */
static __always_inline int is_sigreturn(__u64 head, __u64 tail)
{
	return (head == 0x0f0000000fc0c748ull && (tail & 0xff) == 0x05) ||
	       (head & 0x00ffffffffffffffull) == 0x00050f0000000fb8ull;
}

/*
 * Bytes of a function's prologue or epilogue at @head; the words between rsp and the CFA, 0:
 * something else.
 */
static __always_inline __u64 words_pushed(__u64 head)
{
	__u32 four = (__u32)head;

	if ((four & 0xff) == 0x55 || (four & 0xff) == 0xc3 || (four & 0xffff) == 0xc3f3 ||
	    four == 0xfa1e0ff3)
		return 1;	/* push %rbp; ret; repz ret; endbr64 */
	/* mov %rsp, %rbp */
	return (four & 0xffffff) == 0xe58948 || (four & 0xffffff) == 0xec8b48 ? 2 : 0;
}

/* `add $n, %rsp; ret`: the words between rsp and the CFA. 0: something else. */
static __always_inline __u64 words_dropped(__u64 head)
{
	__u64 bytes = head >> 24 & 0xff;

	return (head & 0xff00ffffffull) == 0xc300c48348ull && !(bytes & 0x87) ? bytes / 8 + 1 : 0;
}

/*
 * The same of a function that does nothing but call another, by a register: `sub $n, %rsp; call
 * *%r; add $n, %rsp; ret`, from any of its instructions on. So are CPython's trampolines, which
 * have no frame pointer before 3.14 (Python/asm_trampoline.S). Where a call returns to, only the
 * last two can be.
 */
static __always_inline __u64 words_of_trampoline(__u64 head, __u64 tail, __u32 exact)
{
	if (exact && (head & 0xf8ff00ffffffull) == 0xd0ff00ec8348ull &&
	    words_dropped(head >> 48 | tail << 16))
		return 1;
	if (exact && (head & 0xf8ff) == 0xd0ff)
		return words_dropped(head >> 16);
	return words_dropped(head);
}

/*
 * `test %rax, %rax; jl ...; je ...; ret`: what glibc's clone() and clone3() return from the system
 * call to, where they have no CFI, because a thread that was just born has no caller. And that of
 * Go's runtime, from either of its first two: `cmp $0, %rax; je ...; mov %eax, n(%rsp); ret`.
 */
static __always_inline int is_after_clone(__u64 head)
{
	return (head & 0xff00ff00ffffffffull) == 0xc30074007cc08548ull ||
	       (head & 0xffff00ffffffffffull) == 0x4489007400f88348ull ||
	       (head & 0x00ff00ffffff00ffull) == 0x00c3002444890074ull;
}

/*
 * Where the function that a context of Boost's (fibers of PHP) runs returns to: `xor %rdi, %rdi;
 * call _exit; hlt`, behind an endbr64 or not. Who resumed it is on another stack.
 */
static __always_inline int is_end_of_context(__u64 head, __u64 tail)
{
	if ((__u32)head == 0xfa1e0ff3)
		return head >> 32 == 0xe8ff3148 && (tail >> 32 & 0xff) == 0xf4;
	return (__u32)head == 0xe8ff3148 && (tail & 0xff) == 0xf4;
}

#define JIT_WORDS 15	/* of the stack that code of a JIT has at most, with its return address */

/* Whether @tail, the bytes before an address, ends with a call by a register. */
static __always_inline int is_register_call(__u64 tail)
{
	return (tail >> 48 & 0xf8ff) == 0xd0ff;
}

/*
 * Code that the runtime of a listed language compiled, and calls by a register. It has no frame
 * pointer, or begins with one, and pushes little (YJIT: three registers, and what it keeps over a
 * call): the first return address into the runtime is its own. 0: there is none.
 */
static __always_inline int jit_rule(struct unwind_env *env, struct unwind_state *s)
{
	__u64 tail;

	if (s->language != EBP_LANGUAGE_RUBY || s->row.object != EBP_OBJECT_NONE || s->sp & 7 ||
	    fill_window(env, s, s->sp, s->sp + JIT_WORDS * 8))
		return 0;
	UNROLL
	for (int i = 0; i < JIT_WORDS; i++) {
		__u64 at = window_word(s, s->sp + i * 8);

		tail = 0;
		if (at - s->loop >= s->loop_bytes || env_read(env, &tail, sizeof(tail), at - 8) ||
		    !is_register_call(tail))
			continue;
		return (i + 1) | (s->fp == s->sp + i * 8 - 8) << EBP_RULE_SAVED_SHIFT;
	}
	return 0;
}

#define PUSHED_WORDS 5	/* that such code may have pushed, and one */
#define FRAME_BYTES_MAX	4096

/*
 * Whether @tail, the bytes before @at, ends with a call of the loop: by its address, or by a
 * register or a word in memory.
 */
static __always_inline int is_call_of_loop(const struct unwind_state *s, __u64 at, __u64 tail)
{
	__u64 two = tail >> 48, three = tail >> 40;
	int direct = ((tail >> 24 & 0xff) == 0xe8) & (at + (__s32)(tail >> 32) == s->jump.loop);
	int plain = ((two & 0x38ff) == 0x10ff) & ((two >> 14 == 0) | (two >> 14 == 3));
	int offset = ((three & 0x38ff) == 0x10ff) &
		     (((three & 0xc000) == 0x4000) | ((three & 0xc700) == 0x400));

	return direct | plain | offset | ((tail >> 16 & 0xffff) == 0x15ff);
}

/*
 * Code that the loop of a listed language's interpreter jumps to, which runs on the loop's frame
 * (opcache's JIT, in memory that processes share): to that frame, at such a jump. What it has
 * pushed there is little; where it returns to from a call, `add $n, %rsp` tells of more. The
 * return address of the loop's frame has to be behind a call of it. The words right below it are
 * registers that the loop has saved, so none that an older call has left is looked at. 0: it is no
 * such code.
 */
static __always_inline int leave_jumped(struct unwind_env *env, struct unwind_state *s)
{
	__u64 words = s->jump.rule & EBP_RULE_OFFSET_MASK, by_fp = s->jump.rule & EBP_RULE_FP_BASE;
	__u64 code = 0, tail = 0, sp = s->sp, ra;

	if (!s->jump.from || s->row.object != EBP_OBJECT_NONE || !s->row.bias || s->sp & 7)
		return 0;
	if (!s->exact && env_read(env, &code, sizeof(code), s->pc))
		return 0;
	if ((code & 0xffffff) == 0xc48148)
		sp += code >> 24 & (FRAME_BYTES_MAX - 8);
	else if ((code & 0xffffff) == 0xc48348)
		sp += code >> 24 & 0x78;
	ra = (by_fp ? s->fp : sp) + words * 8 - 8;
	if (ra - s->sp > FRAME_BYTES_MAX ||
	    fill_window(env, s, ra, ra + PUSHED_WORDS * 8))
		return 0;
	UNROLL
	for (int i = 0; i < PUSHED_WORDS; i++) {
		__u64 at = window_word(s, ra + i * 8);

		if ((by_fp && i) || at - s->jump.text >= s->jump.text_bytes ||
		    env_read(env, &tail, sizeof(tail), at - 8) || !is_call_of_loop(s, at, tail))
			continue;
		s->pc = s->jump.from;
		s->sp = sp + i * 8;
		s->exact = s->by_fp = 0;
		return 1;
	}
	return 0;
}

/*
 * Code without CFI. A leaf's bytes tell whether its frame exists yet, those that a call returns to
 * whether it is about to go; else the frame pointer. Gives the rule to go on with, or negative:
 * STEP_DONE's, negated.
 */
static __always_inline int rule_without_cfi(struct unwind_env *env, struct unwind_state *s)
{
	__u64 code[2] = {}, words;
	int rule;

	if (!env_read(env, code, sizeof(code), s->pc) && is_sigreturn(code[0], code[1]))
		return EBP_RULE_SPECIAL | EBP_RULE_SIGNAL;
	s->apart = !s->exact && is_end_of_context(code[0], code[1]);
	if (s->apart)
		return -STEP_DONE(EBP_COMPLETE);
	if (s->exact && is_after_clone(code[0]))
		return s->regs.r[0] ? 1 : -STEP_DONE(EBP_COMPLETE);
	words = words_of_trampoline(code[0], code[1], s->exact);
	if (words)
		return words;
	words = s->exact ? words_pushed(code[0]) : 0;
	if (words == 1)
		return 1;
	if (words == 2)
		return 2 | 1 << EBP_RULE_SAVED_SHIFT;
	rule = env_code(env, s);
	if (!rule && TAKES(RUBY))
		rule = jit_rule(env, s);
	if (rule)
		return rule;
	s->fp_frames++;
	if (!s->fp)
		return -STEP_DONE(is_end_of_chain(s) ? EBP_COMPLETE : EBP_NO_CFI);
	return EBP_RULE_FP_BASE | 2 | 1 << EBP_RULE_SAVED_SHIFT;
}

/*
 * A rule that is not exotic: CFA by rsp or rbp, or by where in a PLT's entry the program is; return
 * address below it.
 */
static __always_inline int plain_rule(struct unwind_env *env, struct unwind_state *s, __u32 rule,
				      struct caller *c)
{
	__u64 saved = rule >> EBP_RULE_SAVED_SHIFT & 7, low;

	if (rule & EBP_RULE_SPECIAL) {
		__u32 plt10 = rule == (EBP_RULE_SPECIAL | EBP_RULE_PLT10);

		if (!plt10 && rule != (EBP_RULE_SPECIAL | EBP_RULE_PLT11))
			return STEP_DONE(EBP_UNSUPPORTED);
		c->cfa = s->sp + 8 + ((s->pc & 15) >= (plt10 ? 10 : 11) ? 8 : 0);
		saved = 0;
	} else {
		c->cfa = (rule & EBP_RULE_FP_BASE ? s->fp : s->sp) +
			 (rule & EBP_RULE_OFFSET_MASK) * 8;
	}
	low = c->cfa - 8 - 8 * saved;
	if (c->cfa & 7)
		return STEP_DONE(EBP_BAD_CFA);
	if (fill_window(env, s, low, c->cfa))
		return STEP_DONE(EBP_UNREADABLE);
	c->ra = window_word(s, c->cfa - 8);
	c->fp = saved ? window_word(s, low) : s->fp;
	return 0;
}

#endif
