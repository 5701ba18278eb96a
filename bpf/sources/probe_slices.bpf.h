/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes of programs that are there for slices of the time only, because of their traps. What is
 * counted in a slice has its window in its key, for user space knows later for how much it stands;
 * and each thread has the number of its traps, and what they took.
 */
#ifndef EBPROF_PROBE_SLICES_BPF_H
#define EBPROF_PROBE_SLICES_BPF_H

#include "bpf/config.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/slices.bpf.h"

/*
 * Written by user space: probes are being taken away, and nothing counts; the window that counts
 * now; and a number, one more each time that probes are set again.
 */
__u32 probes_paused, probes_window, probes_resumed;

struct probe_task {
	__u64 calls, spent;	/* struct ebp_sliced_thread */
	/*
	 * of the program that runs: when it began, 0: not known; times_preempted() then; what its
	 * trap takes, ns
	 */
	__u64 since, switches, price;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct probe_task);
} probe_tasks SEC(".maps");

static __always_inline int traps_are_paused(void)
{
	return config.probes.sliced && *(volatile __u32 *)&probes_paused;
}

static __always_inline struct probe_task *probe_task(int make)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		return NULL;
	return bpf_task_storage_get(&probe_tasks, bpf_get_current_task_btf(), 0,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/*
 * A program on a uprobe begins. That is in the storage of its thread, for on the stack of such
 * programs there is no room before Linux 5.15; of its first one it is not known.
 */
static __always_inline void trap_began_at(void *ctx, __u64 now)
{
	struct probe_task *t;

	if (!config.probes.sliced)
		return;
	t = probe_task(0);
	if (!t)
		return;
	t->since = now;
	t->switches = times_preempted();
	t->price = bpf_get_attach_cookie(ctx) >> EBP_PROBE_PRICE_SHIFT;
}

static __always_inline void trap_began(void *ctx)
{
	trap_began_at(ctx, config.probes.sliced ? bpf_ktime_get_ns() : 0);
}

/* The class of what counts now. */
static __always_inline __u64 class_in_window(__u64 class)
{
	return config.probes.sliced ? class | EBP_PROBE_WINDOW(probes_window) : class;
}

/*
 * The program on a uprobe is about to end: its trap, whose price was in the cookie, and the CPU
 * time since it began, unless another thread ran meanwhile.
 */
static __always_inline void trap_took(void)
{
	struct ebp_counters *c;
	struct probe_task *t;
	__u32 zero = 0;
	__u64 ns;

	if (!config.probes.sliced)
		return;
	c = bpf_map_lookup_elem(&counters, &zero);
	t = probe_task(1);
	if (!c || !t)
		return;
	ns = t->price;
	if (t->since && times_preempted() == t->switches)
		ns += bpf_ktime_get_ns() - t->since;
	t->since = 0;
	t->calls++;
	t->spent += ns;
	add_to(&c->traps, 1);
	add_to(&c->traps_ns, ns);
}

/*
 * What a thread did until its end, whose leader may be gone, too. The targets are not asked: one
 * whose last thread this was is none any more.
 */
SEC("?raw_tp/sched_process_exit")
int on_probed_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid), zero = 0;
	struct ebp_counters *c = bpf_map_lookup_elem(&counters, &zero);

	if (!c || BPF_CORE_READ(task, flags) & PF_KTHREAD || !maybe_target(tgid, tid))
		return 0;
	if (config.filter.by_comm && !comm_matches(BPF_CORE_READ(task, group_leader)))
		return 0;
	if (config.filter.cgroup &&
	    !cgroup_is_below(task_cgroup(task, config.filter.cgroup_subsys), config.filter.cgroup))
		return 0;
	add_to(&c->exited_ns, BPF_CORE_READ(task, se.sum_exec_runtime));
	return 0;
}

/* Each thread that may be hit. */
SEC("?iter/task")
int list_probe_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct probe_task *t;

	if (!task || !BPF_CORE_READ(task, mm) || !task_wanted(task, task->tgid, task->pid, 1))
		return 0;
	t = bpf_task_storage_get(&probe_tasks, task, 0, 0);
	write_thread(ctx->meta, task, t ? t->calls : 0, t ? t->spent : 0);
	return 0;
}

#endif
