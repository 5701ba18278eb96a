/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forks, execs and exits: what keeps the targets and their unwind tables true. */
#ifndef EBPROF_PROCESSES_BPF_H
#define EBPROF_PROCESSES_BPF_H

#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/unwind.bpf.h"

SEC("?raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	struct ebp_space *space, copy;
	__u32 *t;

	if (from == to)
		return 0;
	/* The child runs the parent's code: it has its tables at its first instruction. */
	space = config.user ? bpf_map_lookup_elem(&spaces, &from) : NULL;
	if (space) {
		copy = *space;
		copy.start = BPF_CORE_READ(child, start_boottime);
		bpf_map_update_elem(&spaces, &to, &copy, BPF_ANY);
	}
	if (!config.filter.by_process || !config.filter.inherit)
		return 0;
	t = bpf_map_lookup_elem(&targets, &from);
	if (t) {
		target_bytes[to & (TARGET_BYTES - 1)] = 1;
		bpf_map_update_elem(&targets, &to, t, BPF_ANY);
	}
	return 0;
}

SEC("?raw_tp/sched_process_exec")
int on_exec(void *ctx __attribute__((unused)))
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, on = EBP_TARGET;

	if (bpf_map_lookup_elem(&targets, &tgid))
		bpf_map_update_elem(&targets, &tgid, &on, BPF_EXIST);
	return 0;
}

/* What was allocated is no more. */
static __always_inline void send_gone(struct task_struct *task, __u32 tgid)
{
	struct ebp_allocation_end end = {
		.head.type = EBP_GONE, .time = bpf_ktime_get_ns(),
		.process = {
			.tgid = tgid, .exec_id = BPF_CORE_READ(task, self_exec_id),
			.start = BPF_CORE_READ(task, group_leader, start_boottime),
		},
	};

	send(&end, sizeof(end), 0);
}

/* The last thread takes the entry along, so that a reused PID is not sampled. */
SEC("?raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	if (config.alloc.on && in_targets(tgid))
		send_gone(task, tgid);
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

#endif
