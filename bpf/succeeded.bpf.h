/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs that stay attached while others succeed them (src/collect/successor.h): the first ones
 * end in tail calls of their successors, as soon as there are any. For events where two programs
 * side by side would count twice, or that take long to attach to.
 */
#ifndef EBPROF_SUCCEEDED_BPF_H
#define EBPROF_SUCCEEDED_BPF_H

#include "bpf/config.bpf.h"

/*
 * 0, which neither the verifier nor the kernel's compiler knows: it would make a jump of the call,
 * and change that while the program runs, in a way that had faults before 6.7.
 */
__u32 first_slot;

static __always_inline void call_successor(void *ctx, void *successors, __u32 slot)
{
	if (config.succeeded && !turn.number)
		bpf_tail_call(ctx, successors, *(volatile __u32 *)&first_slot + slot);
}

#endif
