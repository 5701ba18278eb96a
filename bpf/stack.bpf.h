/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking the stacks of the current task.
 */
#ifndef EBPROF_STACK_BPF_H
#define EBPROF_STACK_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/unwind.bpf.h"

/* struct ebp_stack with its room; a plain size, for the map's value. */
struct scratch {
	__u64 words[sizeof(struct ebp_stack) / sizeof(__u64) + EBP_FRAMES_MAX];
};

/* A stack is too big for BPF's own. Sampling never nests on a CPU (sources/skipped.bpf.h). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* hash_scratch() of at most so many frames, from the one that is to be at @to on. */
#define CHUNK 32

__noinline __u64 hash_chunk(__u64 h, __u32 n, __u32 first, __u32 returned, __u32 to)
{
	__u32 zero = 0;
	struct ebp_stack *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s)
		return 1;
	for (__u32 i = 0; i < CHUNK; i++, to++) {
		__u32 from = to + first;

		/* As they are compared, so they are used: else the verifier cannot tell. */
		barrier_var(from);
		barrier_var(to);
		if (to >= EBP_FRAMES_MAX || from >= EBP_FRAMES_MAX || from >= n)
			break;
		/*
		 * A return address is behind its call, which may be the function's last
		 * instruction.
		 */
		s->frames[to] = s->frames[from] - (to || returned);
		h = hash_step(h, s->frames[to]);
	}
	return h;
}

/*
 * Continues the hash @h over the @n addresses that the kernel put into the
 * scratch, from the one at @first on, and makes frames of them, moved to the
 * front. @returned: that one is a return address, too, and not where the code is.
 * Global functions, and loops in two: the verifier looks at each but once, round for round.
 */
__noinline __u64 hash_scratch(__u64 h, __u32 n, __u32 first, __u32 returned)
{
	for (__u32 to = 0; to < EBP_FRAMES_MAX && to < n; to += CHUNK)
		h = hash_chunk(h, n, first, returned, to);
	return h ? h : 1;	/* 0 means "no stack" */
}

/* Kernel addresses, leaf first; returns their number. */
static __always_inline __u32 kernel_frames(void *ctx, __u64 *frames)
{
	long n = bpf_get_stack(ctx, frames, config.frames * sizeof(*frames), 0);

	return n > 0 ? n / sizeof(*frames) : 0;
}

/*
 * A 32-bit program's stack, by frame pointers, leaf first. Returns the number of frames.
 */
static __always_inline __u32 user_frames32(void *ctx, __u64 *frames, __u32 *result)
{
	long n = bpf_get_stack(ctx, frames, config.frames * sizeof(*frames), BPF_F_USER_STACK);

	*result = n < 0						 ? EBP_UNREADABLE :
		  n >= (long)(config.frames * sizeof(*frames)) ? EBP_DEPTH : EBP_COMPLETE;
	return n > 0 ? n / sizeof(*frames) : 0;
}

#endif
