/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * aarch64's part of the unwinding step (AAPCS64, 6.4.6; AADWARF64;
 * arch/arm64/include/uapi/asm/sigcontext.h).
 */
#ifndef EBPROF_UNWIND_ARM64_H
#define EBPROF_UNWIND_ARM64_H

#define REG_FP	29
#define REG_LR	30
#define REG_SP	31
#define REG_PC	32
#define REG_MASK 31
#define LEAVE_JUMPED(env, s) 0
#define CODE_TELLS 0	/* env_code() is of no use */
#define KEPT(s) (1u << REG_FP | (__u32)!(s)->by_fp << REG_SP)
/* struct return_instance.stack: sp at the function's entry */
#define UPROBE_SLOT(s) ((s)->sp)
#define LEAF_LR(s) ((s)->regs.r[REG_LR])
/*
 * By a frame record, which may lie anywhere in its frame, mostly at its low end: the CFA is not
 * known by it.
 */
#define IS_GUESS(rule) \
	((rule) & EBP_RULE_FP_BASE || (rule) >> EBP_RULE_SAVED_SHIFT == EBP_SAVED_PAIR_HIGH)
/* A program begins with a record of zeros, too. */
#define GUESS_ENDS(s) is_end_of_chain(s)

#include "bpf/unwind_exotic.h"

/*
 * Pointer authentication signs return addresses in the bits that no address
 * uses. User addresses have 48 bits, or 52 where a program asks for it by a
 * hint to mmap(), which none does for its code.
 */
#define ADDRESS(signed_address) ((signed_address) & ((1ull << 48) - 1))

/*
 * The kernel's frame: siginfo (128 bytes), then struct ucontext, whose uc_mcontext is at 176:
 * fault_address, x0-x30, sp, pc.
 */
#define SIGNAL_REGS (128 + 176 + 8)
#define SIGNAL_WORDS 33

static __always_inline int signal_frame(struct unwind_env *env, struct unwind_state *s)
{
	__u64 below = s->sp;

	if (s->by_fp)
		return STEP_DONE(EBP_LOST_REGISTER);
	if (env_read(env, s->regs.r, SIGNAL_WORDS * 8, s->sp + SIGNAL_REGS))
		return STEP_DONE(EBP_UNREADABLE);
	s->window = s->window_end = 0;
	s->fp = s->regs.r[REG_FP];
	s->lr = s->regs.r[REG_LR];
	s->sp = s->regs.r[REG_SP];
	s->pc = s->regs.r[REG_PC];
	s->exact = 1;
	s->jumps += s->sp <= below;
	if (s->jumps > JUMPS_MAX)
		return STEP_DONE(EBP_BAD_CFA);
	return s->pc ? 0 : STEP_DONE(EBP_ZERO_RETURN);
}

/* `mov x8, #139; svc #0`: rt_sigreturn. */
static __always_inline int is_sigreturn(__u64 code)
{
	return code == 0xd4000001d2801168ull;
}

/*
 * At any frame: the vDSO's trampoline has no CFI (arch/arm64/kernel/vdso/sigreturn.S). A leaf may
 * be further on in it.
 */
static __always_inline int in_sigreturn(struct unwind_env *env, const struct unwind_state *s)
{
	__u64 code = 0;

	UNROLL
	for (int passed = 0; passed < 3; passed++)
		if ((!passed || s->exact) &&
		    !env_read(env, &code, sizeof(code), s->pc - 4 * passed) && is_sigreturn(code))
			return 1;
	return 0;
}

/*
 * At a leaf: no frame yet, or no more: bti c, paciasp, `stp x29, x30, [sp, #-n]!`; autiasp, ret,
 * retaa.
 */
static __always_inline int is_frameless(__u32 code)
{
	return code == 0xd503245f || code == 0xd503233f || (code & 0xffe07fff) == 0xa9a07bfd ||
	       code == 0xd50323bf || code == 0xd65f03c0 || code == 0xd65f0bff;
}

/*
 * `add x29, sp, #n` (`mov x29, sp`), n a multiple of 16: the frame record is made, but x29 is still
 * the caller's.
 */
static __always_inline int is_frame_set(__u32 code)
{
	return (code & 0xffc03fff) == 0x910003fd;
}

/* `ldp x29, x30, [sp], #n`, n a multiple of 16: all of the frame is gone with it. */
static __always_inline int is_frame_dropped(__u32 code)
{
	return (code & 0xffe0ffff) == 0xa8c07bfd;
}

/* The rule to go on with in code without CFI, or negative: STEP_DONE's, negated. */
static __always_inline int rule_without_cfi(struct unwind_env *env, struct unwind_state *s)
{
	__u64 code = 0;

	if (in_sigreturn(env, s))
		return EBP_RULE_SPECIAL | EBP_RULE_SIGNAL;
	env_read(env, &code, sizeof(code), s->pc);
	if (s->exact && is_frameless((__u32)code))
		return EBP_SAVED_NOTHING << EBP_RULE_SAVED_SHIFT;
	if (s->exact && is_frame_set((__u32)code))
		return (code >> 14 & 0xff) + 1 + (EBP_SAVED_PAIR_HIGH << EBP_RULE_SAVED_SHIFT);
	/*
	 * So CPython's trampolines end (Python/asm_trampoline.S); sp is then known, which a record
	 * does not tell.
	 */
	if (!s->by_fp && is_frame_dropped((__u32)code))
		return (code >> 16 & 0x1f) | EBP_SAVED_PAIR_LOW << EBP_RULE_SAVED_SHIFT;
	s->fp_frames++;
	if (!s->fp)
		return -STEP_DONE(is_end_of_chain(s) ? EBP_COMPLETE : EBP_NO_CFI);
	/* The frame record, {x29, x30}, is where x29 points to. */
	return EBP_RULE_FP_BASE | 1 | EBP_SAVED_PAIR_LOW << EBP_RULE_SAVED_SHIFT;
}

/*
 * A rule that is not exotic: CFA by sp or x29, x29 and x30 where EBP_SAVED_*
 * says. x29 points to where the two were saved (AAPCS64, 6.4.6), so it finds
 * the CFA where sp is lost.
 */
static __always_inline int plain_rule(struct unwind_env *env, struct unwind_state *s, __u32 rule,
				      struct caller *c)
{
	__u64 offset = (rule & EBP_RULE_OFFSET_MASK) * 16, saved = rule >> EBP_RULE_SAVED_SHIFT & 7;
	__u64 lr_only = saved == EBP_SAVED_LR_LOW || saved == EBP_SAVED_LR_HIGH ||
			saved == EBP_SAVED_LR_TOP;
	__u64 down = saved == EBP_SAVED_PAIR_LOW || saved == EBP_SAVED_LR_LOW ? offset
		     : saved == EBP_SAVED_PAIR_32			      ? 32
		     : saved == EBP_SAVED_PAIR_48			      ? 48
		     : saved == EBP_SAVED_LR_TOP			      ? 8
									      : 16;
	__u64 at;

	if (rule & EBP_RULE_SPECIAL)
		return STEP_DONE(EBP_UNSUPPORTED);
	c->cfa = (rule & EBP_RULE_FP_BASE ? s->fp : s->sp) + offset;
	c->fp = s->fp;
	c->ra = s->lr;
	if (saved == EBP_SAVED_NOTHING && !s->exact)
		return STEP_DONE(EBP_LOST_REGISTER);
	if (s->by_fp && !(rule & EBP_RULE_FP_BASE)) {
		if (lr_only)
			return STEP_DONE(EBP_LOST_REGISTER);
		c->cfa = s->fp + down;
	}
	if (c->cfa & 7)
		return STEP_DONE(EBP_BAD_CFA);
	if (saved == EBP_SAVED_NOTHING)
		return 0;
	at = c->cfa - down;
	if (fill_window(env, s, at, at + 16 - 8 * lr_only))
		return STEP_DONE(EBP_UNREADABLE);
	c->ra = window_word(s, at + 8 - 8 * lr_only);
	if (!lr_only)
		c->fp = window_word(s, at);
	return 0;
}

#endif
