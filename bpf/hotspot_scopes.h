/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which methods a place in compiled code is of: that of the code, and those that the compiler put
 * into it. Compiled for BPF and natively, as hotspot_step.h is, behind which it stands.
 *
 * PcDescs are sorted by pc. The one of a call is that of its return address; of all else the next
 * one's is near. It leads to a scope of three numbers: where the caller's scope is (0: there is
 * none), the method's place in the metadata plus 1, and its bytecode plus 1. Numbers are of one
 * byte below a bound, or of up to five, each of which is 64 times as heavy as the one before
 * (src/hotspot/share/utilities/unsigned5.hpp).
 */
#ifndef EBPROF_HOTSPOT_SCOPES_H
#define EBPROF_HOTSPOT_SCOPES_H

#include "bpf/hotspot.h"

#define HOTSPOT_PCS_SHIFT 14		/* steps of the search */
#define HOTSPOT_SCOPE_BYTES 16		/* three numbers of up to five */
#define HOTSPOT_BCI_BEFORE (-1)		/* what the numbers of bytecodes are written from */

struct hotspot_pc {			/* PcDesc */
	__s32 pc;			/* less where code begins */
	__s32 scope;			/* place in the scopes' data; 0: none */
	__s32 objects, flags;
};

struct hotspot_scope {
	__u64 data;			/* where scopes lie */
	__u64 metadata;
	__u32 at;			/* the scope; 0: there are no more */
	__u32 reserved;
	__u64 method;			/* what it is of; 0: not known */
	__s32 bci;			/* negative: not known */
	__u32 unused;
	__u8 bytes[2 * HOTSPOT_SCOPE_BYTES];
};

/* The number that begins at @bytes[@at] of 32, @at going on behind it. */
static __always_inline __u32 hotspot_number(const __u8 *bytes, __u32 *at, int no_zero)
{
	__u32 least = no_zero ? 1 : 0, bound = 192, sum = 0, i = *at;

	UNROLL
	for (int k = 0; k < 5; k++) {
		__u32 b = bytes[i & 31];

		sum += (b - least) << 6 * k;
		i++;
		if (b < bound)
			break;
	}
	*at = i;
	return sum;
}

/* A number of 32 bits among those that are not negative, in its order. */
#define UP(x) ((__u64)((__s64)(x) + (1ll << 32)))

/* Where the scopes of the code in @s are, and that of its pc. 0, or negative: it has none. */
static __always_inline int hotspot_first_scope(struct unwind_env *env,
					       const struct hotspot_state *s,
					       const struct ebp_hotspot *o,
					       struct hotspot_scope *c)
{
	__u64 base = o->flags & EBP_HOTSPOT_IMMUTABLE ? hotspot_word(s, o->data) : s->blob;
	__u64 pcs = base + hotspot_half(s, o->pcs);
	__u32 n = (hotspot_half(s, o->pcs_end) - hotspot_half(s, o->pcs)) /
		  sizeof(struct hotspot_pc);
	__s32 pc = (__s32)(s->pc - s->code);
	struct hotspot_pc found = {};
	__u64 lo = 0;

	c->data = o->flags & (EBP_HOTSPOT_IMMUTABLE | EBP_HOTSPOT_ONE_HEAP)
			  ? base + hotspot_half(s, o->scopes)
			  : hotspot_word(s, o->scopes);
	if (o->flags & EBP_HOTSPOT_MUTABLE)
		c->metadata = hotspot_word(s, o->mutable_data) + hotspot_half(s, o->metadata);
	else
		c->metadata = s->blob + hotspot_half(s, o->metadata);
	c->at = 0;
	if (n >> HOTSPOT_PCS_SHIFT)
		return -1;
	for (int bit = HOTSPOT_PCS_SHIFT - 1; bit >= 0; bit--) {
		__u64 i = lo + (1u << bit) - 1;
		__s32 at = 0;

		env_read(env, &at, sizeof(at), pcs + i * sizeof(found));
		lo += both_at_least(UP(pc), UP(at) + 1, n, i + 1) << bit;
	}
	if (lo >= n || env_read(env, &found, sizeof(found), pcs + lo * sizeof(found)))
		return -1;
	c->at = found.scope;
	return 0;
}

/* The method and bytecode of the scope at c->at, and the one it was called by. */
static __always_inline int hotspot_next_scope(struct unwind_env *env, const struct ebp_hotspot *o,
					      struct hotspot_scope *c)
{
	int no_zero = !!(o->flags & EBP_HOTSPOT_NO_ZERO);
	__u32 at = 0, caller, method;

	if (env_read(env, c->bytes, HOTSPOT_SCOPE_BYTES, c->data + c->at))
		return -1;
	caller = hotspot_number(c->bytes, &at, no_zero);
	method = hotspot_number(c->bytes, &at, no_zero);
	c->bci = (__s32)hotspot_number(c->bytes, &at, no_zero) + HOTSPOT_BCI_BEFORE;
	c->method = method ? hotspot_pointer(env, c->metadata + (method - 1) * 8ull) : 0;
	/* Callers' scopes were written before. */
	if (caller >= c->at)
		caller = 0;
	c->at = caller;
	return c->method ? 0 : -1;
}

#endif
