/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations: uprobes on the two functions that our preloaded library
 * (src/preload/alloc.c) calls for a sampled block and for its end.
 *
 * All of them travel through the ring buffer, in their order: user space matches them. They are
 * samples, so they are few; and who asks for all of them pays a trap for each anyway.
 *
 * A program on a uprobe may be preempted, and another task on this CPU run it, too (only
 * migration is off). The memory of a CPU is then in use: such a block is counted without its stack.
 */
#ifndef EBPROF_ALLOCATIONS_BPF_H
#define EBPROF_ALLOCATIONS_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/uprobe.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define ARGUMENT_0(ctx) ((ctx)->di)
#define ARGUMENT_1(ctx) ((ctx)->si)
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT_0(ctx) ((ctx)->regs[0])
#define ARGUMENT_1(ctx) ((ctx)->regs[1])
#endif

/*
 * Written by user space: probes are set and taken away one after the other, which takes a while;
 * they count when all are there.
 */
__u32 alloc_on;

/* Of each CPU: how many are in take_block_stack(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} alloc_busy SEC(".maps");

/* @languages as of capture_user_as(); so below. */
static __always_inline void take_block_stack(bpf_user_pt_regs_t *ctx, struct ebp_key *key,
					     const struct task_facts *task, int languages)
{
	struct capture capture;
	__u32 zero = 0;
	__u64 *busy;
	int err = -1;

	capture_process(&capture, key);
	busy = bpf_map_lookup_elem(&alloc_busy, &zero);
	if (!busy || !capture_begin(&capture))
		return;
	/*
	 * All of them are on this CPU, so who reads 1 is alone until it subtracts that again. Not
	 * by what an addition returns: that came with 5.12, on arm64 with 5.18.
	 */
	add_to(busy, 1);
	if (*(volatile __u64 *)busy == 1)
		err = capture_user_as(ctx, AT_ENTRY, key, &capture, task, languages);
	add_to(busy, -1);
	if (err == RESCUED) {
		add_to(&capture.counters->sent, 1);
	} else if (err) {
		key->user_id = 0;
		key->result = EBP_UNREADABLE;
	}
}

/* The current task's program, where it is wanted. */
static __always_inline int wanted_process(struct ebp_process *p, struct task_facts *task)
{
	__u64 id = bpf_get_current_pid_tgid();

	if (!alloc_on || !wanted(id >> 32, (__u32)id, 0))
		return 0;
	read_task(task);
	p->tgid = id >> 32;
	p->exec_id = task->exec_id;
	p->start = task->start;
	return 1;
}

/*
 * Not inlined: its record would lie on the stack below the unwinder's functions, which have 512
 * bytes together with it before 6.8.
 */
static __noinline int send_block(struct ebp_counters *c, const struct ebp_key *key, __u64 id,
				 __u64 size)
{
	struct ebp_allocation b = {
		.head.type = EBP_ALLOCATION,
		.time = bpf_ktime_get_ns(),
		.id = id,
		.size = size,
		.key = *key,
	};

	add_to(&c->taken, 1);
	if (send(&b, sizeof(b), 0)) {
		add_to(&c->lost[EBP_LOST_RING], 1);
		return -1;
	}
	keep(c, 1);
	return 0;
}

/* ebprof_block(id, size) */
UPROBE_WITH_STACKS(on_block, EBP_SUCCEEDS_BLOCK)
{
	struct ebp_key key = { .kind = EBP_ALLOCATED };
	struct ebp_counters *c;
	struct task_facts task;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c || !wanted_process(&key.process, &task))
		return 0;
	key.tid = bpf_get_current_pid_tgid();
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	take_block_stack(ctx, &key, &task, languages);
	send_block(c, &key, ARGUMENT_0(ctx), ARGUMENT_1(ctx));
	return 0;
}

/* ebprof_free(id) */
UPROBE(on_block_end)
{
	struct ebp_allocation_end end = { .head.type = EBP_FREED };
	struct ebp_counters *c;
	struct task_facts task;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c || !wanted_process(&end.process, &task))
		return 0;
	end.time = bpf_ktime_get_ns();
	end.id = ARGUMENT_0(ctx);
	if (send(&end, sizeof(end), 0))
		add_to(&c->ends_lost, 1);
	return 0;
}

#endif
