/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exotic rules (struct ebp_exotic): the same on both architectures but for
 * REG_FP, REG_SP, REG_MASK and KEPT, which the architecture's header defines before.
 */
#ifndef EBPROF_UNWIND_EXOTIC_H
#define EBPROF_UNWIND_EXOTIC_H

/* The caller's values, as far as they are found. */
struct caller {
	__u64 cfa, ra, fp;
};

/*
 * Whether the rule needs a register that only a leaf is known to have: not 0. By bits of small
 * numbers, not by comparisons, after each of which the verifier would go on twice.
 */
static __always_inline __u32 is_lost(const struct ebp_exotic *x, __u32 kept)
{
	const __u32 by_register = 1u << EBP_AT_REG | 1u << EBP_IN_REG;
	__u32 lost = ~kept, fp = by_register >> (x->fp & 31) & lost >> x->fp_reg,
	      ra = by_register >> (x->ra & 31) & lost >> x->ra_reg;

	return (lost >> x->cfa_reg | fp | ra | (1u << EBP_AT_SAME) >> (x->ra & 31)) & 1;
}

/* The CFA of an exotic rule; its other places into @c. 0, or STEP_DONE(). */
static __always_inline int exotic_rule(struct unwind_env *env, struct unwind_state *s, __u64 index,
				       struct caller *c)
{
	__u64 offset, base, fp_base, ra_base;
	struct ebp_exotic x;
	const __u8 *p;

	if (index >= s->nexotic)
		return STEP_DONE(EBP_UNSUPPORTED);
	p = env_shard(env, ref_shard(s->exotic));
	if (!p)
		return STEP_DONE(EBP_NO_TABLE);
	offset = (ref_offset(s->exotic) + index * sizeof(x)) & EBP_SHARD_MASK & ~7ull;
	x.cfa = p[offset];
	x.cfa_reg = p[offset + 1] & REG_MASK;
	x.fp = p[offset + 2];
	x.fp_reg = p[offset + 3] & REG_MASK;
	x.ra = p[offset + 4];
	x.ra_reg = p[offset + 5] & REG_MASK;
	x.cfa_offset = (__s32)table32(p, offset + 8);
	x.cfa_add = (__s32)table32(p, offset + 12);
	x.fp_offset = (__s32)table32(p, offset + 16);
	x.ra_offset = (__s32)table32(p, offset + 20);
	if (!s->exact && is_lost(&x, KEPT(s)))
		return STEP_DONE(EBP_LOST_REGISTER);
	s->regs.r[REG_FP] = s->fp;
	s->regs.r[REG_SP] = s->sp;
	base = s->regs.r[x.cfa_reg];
	c->cfa = base + (__s64)x.cfa_offset;
	if (x.cfa == EBP_CFA_DEREF) {
		if (env_read(env, &base, sizeof(base), c->cfa))
			return STEP_DONE(EBP_UNREADABLE);
		c->cfa = base + (__s64)x.cfa_add;
	}
	fp_base = x.fp == EBP_AT_CFA || x.fp == EBP_IS_CFA ? c->cfa : s->regs.r[x.fp_reg];
	ra_base = x.ra == EBP_AT_CFA || x.ra == EBP_IS_CFA ? c->cfa : s->regs.r[x.ra_reg];
	if (x.ra == EBP_AT_UNDEFINED)
		return STEP_DONE(EBP_COMPLETE);
	c->ra = x.ra == EBP_AT_SAME ? s->lr : ra_base;
	if ((x.ra == EBP_AT_CFA || x.ra == EBP_AT_REG) &&
	    env_read(env, &c->ra, 8, ra_base + (__s64)x.ra_offset))
		return STEP_DONE(EBP_UNREADABLE);
	c->fp = x.fp == EBP_AT_SAME ? s->fp : x.fp == EBP_AT_UNDEFINED ? 0 :
		x.fp == EBP_IS_CFA ? fp_base + (__s64)x.fp_offset : fp_base;
	if ((x.fp == EBP_AT_CFA || x.fp == EBP_AT_REG) &&
	    env_read(env, &c->fp, 8, fp_base + (__s64)x.fp_offset))
		return STEP_DONE(EBP_UNREADABLE);
	return 0;
}

#endif
