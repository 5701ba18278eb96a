/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs on uprobes.
 *
 * From Linux 6.13 on a tracing program that needs more than a little stack has one that belongs to
 * the CPU, because it is not run there twice at a time. Those on uprobes are: the kernel may be
 * preempted in them, and another thread that hits one would write over what the first has on its
 * stack, pointers to be followed among it. A program that may end in a tail call keeps the stack of
 * the task, so each of them might; only those that have a successor ever do.
 */
#ifndef EBPROF_UPROBE_BPF_H
#define EBPROF_UPROBE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/succeeded.bpf.h"

/* What a program has of the kernel; the member came with those stacks. */
struct bpf_prog_aux___own_stack {
	void *priv_stack_ptr;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, EBP_UPROBE_SUCCESSORS);
	__type(key, __u32);
	__type(value, __u32);
} uprobe_successors SEC(".maps");

__u32 tail_calls;	/* 0, which the verifier does not know */

static __always_inline void keep_task_stack(void *ctx)
{
	if (bpf_core_field_exists(((struct bpf_prog_aux___own_stack *)0)->priv_stack_ptr) &&
	    *(volatile __u32 *)&tail_calls)
		bpf_tail_call(ctx, &uprobe_successors, 0);
}

/* The program @name, of what follows; its context is @ctx. */
#define UPROBE(name)                                                     \
	static __always_inline int name##_body(bpf_user_pt_regs_t *ctx); \
	SEC("?uprobe")                                                   \
	int name(bpf_user_pt_regs_t *ctx)                                \
	{                                                                \
		keep_task_stack(ctx);                                    \
		return name##_body(ctx);                                 \
	}                                                                \
	static __always_inline int name##_body(bpf_user_pt_regs_t *ctx)

/*
 * The same for one that takes stacks: @name, with frames of languages, and @name_native, without;
 * which it is says @languages, a constant. @slot: of who succeeds them.
 */
#define UPROBE_WITH_STACKS(name, slot)                                                  \
	static __always_inline int name##_body(bpf_user_pt_regs_t *ctx, int languages); \
	SEC("?uprobe")                                                                  \
	int name(bpf_user_pt_regs_t *ctx)                                               \
	{                                                                               \
		call_successor(ctx, &uprobe_successors, slot);                          \
		keep_task_stack(ctx);                                                   \
		return name##_body(ctx, 1);                                             \
	}                                                                               \
	SEC("?uprobe")                                                                  \
	int name##_native(bpf_user_pt_regs_t *ctx)                                      \
	{                                                                               \
		call_successor(ctx, &uprobe_successors, slot);                          \
		keep_task_stack(ctx);                                                   \
		return name##_body(ctx, 0);                                             \
	}                                                                               \
	static __always_inline int name##_body(bpf_user_pt_regs_t *ctx, int languages)

#endif
