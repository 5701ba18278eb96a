/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking the frames of the current task.
 *
 * user_frames() is the seam: whoever unwinds user stacks another way replaces
 * that one function and nothing else.
 */
#ifndef EBPROF_STACK_BPF_H
#define EBPROF_STACK_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"

/* Kernel frames, leaf first; returns their number. */
static __always_inline __u32 kernel_frames(void *ctx, __u64 *frames)
{
	long n = bpf_get_stack(ctx, frames, cfg_frames * sizeof(*frames), 0);

	return n > 0 ? n / sizeof(*frames) : 0;
}

/*
 * User frames by frame pointers, leaf first; returns their number and says in
 * @result how it ended. A task without user memory (a kernel thread, one that
 * is exiting) has none, and is complete all the same.
 */
static __always_inline __u32 user_frames(void *ctx, __u64 *frames, __u32 *result)
{
	long n = bpf_get_stack(ctx, frames, cfg_frames * sizeof(*frames), BPF_F_USER_STACK);

	*result = n < 0 ? EBP_UNREADABLE : n >= (long)(cfg_frames * sizeof(*frames)) ? EBP_DEPTH : EBP_COMPLETE;
	return n > 0 ? n / sizeof(*frames) : 0;
}

#endif
