/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One sample of the current task: is it wanted, what are its stacks, and the count. */
#ifndef EBPROF_SAMPLE_BPF_H
#define EBPROF_SAMPLE_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/meters.bpf.h"

/*
 * Of each CPU: how many programs on uprobes work with its memory. They may be interrupted, and
 * preempted by one another.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} probes_busy SEC(".maps");

static __always_inline __u64 *probes_at_work(void)
{
	__u32 zero = 0;

	return config.probes.user ? bpf_map_lookup_elem(&probes_busy, &zero) : NULL;
}

struct sample {
	struct capture capture;
	struct task_facts task;
	struct ebp_key key;
};

/*
 * What sample_begin() does, but that the sample is not counted as taken yet: the same where a
 * program may be preempted, which counts in its own way.
 */
static __always_inline int sample_find(struct sample *x, int by_cgroup)
{
	__u64 id = bpf_get_current_pid_tgid();

	x->key = (struct ebp_key){};
	if (!wanted(id >> 32, (__u32)id, by_cgroup) || !capture_begin(&x->capture))
		return 0;
	read_task(&x->task);
	x->key.process.tgid = id >> 32;
	x->key.process.exec_id = x->task.exec_id;
	x->key.process.start = x->task.start;
	x->key.tid = id;
	bpf_get_current_comm(x->key.comm, sizeof(x->key.comm));
	if (config.meters.n)
		x->key.kind = EBP_METERED;
	capture_process(&x->capture, &x->key);
	return 1;
}

/* 0 where the task is not wanted. @by_cgroup: a constant (task_wanted()). */
static __always_inline int sample_begin(struct sample *x, int by_cgroup)
{
	if (!sample_find(x, by_cgroup))
		return 0;
	x->capture.counters->taken++;
	return 1;
}

/*
 * @outcome: what capture_kernel() returned, or else capture_user(); @worth: what is counted. A
 * stack that user space makes is a sample of its own, or (EBP_COUNTS_LATER) has the id that is
 * counted.
 */
static __always_inline void sample_end(struct sample *x, int outcome, struct ebp_count worth)
{
	struct ebp_counters *c = x->capture.counters;

	if (outcome == RESCUED)
		c->sent++;
	if (outcome == RESCUED && !EBP_COUNTS_LATER(x->key.kind)) {
		keep(c, worth.n);
	} else if (outcome && outcome != RESCUED) {
		c->lost[EBP_LOST_RING] += worth.n;
	} else {
		record(c, &x->key, worth, bpf_ktime_get_ns());
		count_meters(&x->key);
	}
}

/* All between these two. @languages as of capture_user_as(). */
static __always_inline void sample_stacks_as(void *ctx, enum capture_at at, struct sample *x,
					     struct ebp_count worth, int languages)
{
	__u64 *busy = probes_at_work();
	int err = 0;

	if (busy && *busy) {
		x->capture.counters->lost[EBP_LOST_PROBE] += worth.n;
		return;
	}
	if (config.kernel && at == AT_KERNEL)
		err = capture_kernel(ctx, &x->key, &x->capture);
	if (config.user && !x->task.userless && !err)
		err = capture_user_as(ctx, at, &x->key, &x->capture, &x->task, languages);
	sample_end(x, err, worth);
}

static __always_inline void sample_stacks_worth(void *ctx, enum capture_at at, struct sample *x,
						struct ebp_count worth)
{
	sample_stacks_as(ctx, at, x, worth, 1);
}

static __always_inline void sample_stacks(void *ctx, enum capture_at at, struct sample *x)
{
	sample_stacks_worth(ctx, at, x, (struct ebp_count){ .n = 1 });
}

#endif
