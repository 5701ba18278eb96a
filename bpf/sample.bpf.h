/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One sample of the current task: is it wanted, what are its stacks, and the count. */
#ifndef EBPROF_SAMPLE_BPF_H
#define EBPROF_SAMPLE_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/filter.bpf.h"

struct sample {
	struct capture capture;
	struct task_facts task;
	struct ebp_key key;
};

/* 0 where the task is not wanted. @by_cgroup: a constant (task_wanted()). */
static __always_inline int sample_begin(struct sample *x, int by_cgroup)
{
	__u64 id = bpf_get_current_pid_tgid();

	x->key = (struct ebp_key){};
	if (!wanted(id >> 32, (__u32)id, by_cgroup) || !capture_begin(&x->capture))
		return 0;
	x->capture.counters->taken++;
	read_task(&x->task);
	x->key.process.tgid = id >> 32;
	x->key.process.exec_id = x->task.exec_id;
	x->key.process.start = x->task.start;
	x->key.tid = id;
	bpf_get_current_comm(x->key.comm, sizeof(x->key.comm));
	capture_process(&x->capture, &x->key);
	return 1;
}

/* @outcome: what capture_kernel() returned, or else capture_user(). */
static __always_inline void sample_end(const struct sample *x, int outcome)
{
	struct ebp_counters *c = x->capture.counters;

	if (outcome == RESCUED) {
		c->sent++;
		keep(c);
	} else if (outcome) {
		c->lost[EBP_LOST_RING]++;
	} else {
		record(c, &x->key, (struct ebp_count){ .n = 1 });
	}
}

/* All between these two. */
static __always_inline void sample_stacks(void *ctx, enum capture_at at, struct sample *x)
{
	int err = 0;

	if (config.kernel && at == AT_KERNEL)
		err = capture_kernel(ctx, &x->key, &x->capture);
	if (config.user && !x->task.userless && !err)
		err = capture_user(ctx, at, &x->key, &x->capture, &x->task);
	sample_end(x, err);
}

#endif
