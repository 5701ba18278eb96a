/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one home of differences between kernels and architectures. Floor: 5.8
 * (ring buffer, CAP_BPF). Raw facts only; no policy.
 */
#ifndef EBPROF_COMPAT_BPF_H
#define EBPROF_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PF_KTHREAD 0x00200000	/* include/linux/sched.h: a kernel thread */

#if defined(__TARGET_ARCH_x86)
#define REGS_PC(regs) ((regs)->ip)
#elif defined(__TARGET_ARCH_arm64)
#define REGS_PC(regs) ((regs)->pc)
#endif

/* What a sample wants to know of the task that it hit. */
struct task_facts {
	__u64 start;		/* of its leader: CLOCK_BOOTTIME ns */
	__u32 exec_id;
	__u32 kthread;
};

/*
 * Since 5.11 (3ca1032ab7ab) the current task can be had as a typed pointer,
 * whose fields are plain loads; before, each field is a call of a helper.
 */
static __always_inline void read_task(struct task_facts *f)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		struct task_struct *task = bpf_get_current_task_btf();

		f->start = task->group_leader->start_boottime;
		f->exec_id = task->self_exec_id;
		f->kthread = task->flags & PF_KTHREAD;
	} else {
		struct task_struct *task = (void *)bpf_get_current_task();

		f->start = BPF_CORE_READ(task, group_leader, start_boottime);
		f->exec_id = BPF_CORE_READ(task, self_exec_id);
		f->kthread = BPF_CORE_READ(task, flags) & PF_KTHREAD;
	}
}

/*
 * Whether the event hit kernel code. Kernel addresses are the upper half on
 * both architectures; regs.cs would say it too, but 6.18 made that a union
 * that the verifier does not let us read.
 */
static __always_inline int hit_kernel(const struct bpf_perf_event_data *ctx)
{
	return (__s64)REGS_PC(&ctx->regs) < 0;
}

#endif
