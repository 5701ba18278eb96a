/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One sample of the current task: is it wanted, what are its stacks, and the count. */
#ifndef EBPROF_SAMPLE_BPF_H
#define EBPROF_SAMPLE_BPF_H

#include "bpf/at_work.bpf.h"
#include "bpf/capture.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/meters.bpf.h"

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
	add_to(&x->capture.counters->taken, 1);
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
		add_to(&c->sent, 1);
	if (outcome == RESCUED && !EBP_COUNTS_LATER(x->key.kind)) {
		keep(c, worth.n);
	} else if (outcome && outcome != RESCUED) {
		add_to(&c->lost[EBP_LOST_RING], worth.n);
	} else {
		record(c, &x->key, worth, bpf_ktime_get_ns());
		count_meters(&x->key);
	}
}

/* All between these two, where this CPU's memory is free. @languages as of capture_user_as(). */
static __always_inline void sample_alone(void *ctx, enum capture_at at, struct sample *x,
					 struct ebp_count worth, int languages)
{
	int err = 0;

	if (config.kernel && at == AT_KERNEL)
		err = capture_kernel(ctx, &x->key, &x->capture);
	if (config.user && !x->task.userless && !err)
		err = capture_user_as(ctx, at, &x->key, &x->capture, &x->task, languages);
	sample_end(x, err, worth);
}

/* 1 where that memory is a probe's program's: then the sample, of @n, is lost. */
static __always_inline int sample_interrupts(struct sample *x, __u64 n)
{
	if (!is_probe_at_work())
		return 0;
	add_to(&x->capture.counters->lost[EBP_LOST_PROBE], n);
	return 1;
}

static __always_inline void sample_stacks_as(void *ctx, enum capture_at at, struct sample *x,
					     int languages)
{
	const struct ebp_count one = { .n = 1 };

	if (!sample_interrupts(x, 1))
		sample_alone(ctx, at, x, one, languages);
}

static __always_inline void sample_stacks(void *ctx, enum capture_at at, struct sample *x)
{
	sample_stacks_as(ctx, at, x, 1);
}

#endif
