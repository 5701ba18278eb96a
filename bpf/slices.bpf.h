/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the slicer (src/slices/slicer.h) asks of programs on functions: who called, and at what
 * cost.
 */
#ifndef EBPROF_SLICES_BPF_H
#define EBPROF_SLICES_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/ebprof.h"

static __always_inline __u64 times_preempted(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, nivcsw);
}

/* What thread @task has done, to who reads the iterator @meta; @calls, @spent: of this source. */
static __always_inline void write_thread(struct bpf_iter_meta *meta, struct task_struct *task,
					 __u64 calls, __u64 spent)
{
	struct ebp_sliced_thread out = {
		.tid = task->pid, .start = task->start_boottime, .cpu = task->se.sum_exec_runtime,
		.calls = calls, .spent = spent,
	};

	if (task->pid == task->tgid)
		out.exited = BPF_CORE_READ(task, signal, sum_sched_runtime);
	bpf_seq_write(meta->seq, &out, sizeof(out));
}

#endif
