/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts of events by thread, process, CPU or cgroup. Events count on each CPU, whoever runs there;
 * where threads are switched, what was counted since the last switch is that of who leaves. So any
 * number of threads shares one counter a CPU and event, and none has to be known before.
 */
#include "bpf/cgroup.bpf.h"
#include "bpf/tally/tally.h"

const volatile struct tally_config tally_config = { .subsys = -1, .events = 1, .cpus = 1 };

/* Written by user space: the events count from now on. */
__u32 tally_on;
/* What no entry was left for. */
__u64 tally_lost;

/* Event of a CPU -> its descriptor. Sized by user space, as the next two. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tally_events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct tally_key);
	__type(value, struct tally_entry);
} tallies SEC(".maps");

/* Threads -> enum tally_target. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tally_targets SEC(".maps");

/* Of each CPU: its events at the last switch that mattered. */
struct tally_before {
	struct tally_count counts[TALLY_EVENTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tally_before);
} tally_before SEC(".maps");

/* Too big for a program's stack. */
struct tally_entry tally_empty;

static __always_inline int is_counted(struct task_struct *task)
{
	__u32 tid = BPF_CORE_READ(task, pid), *t;

	if (tally_config.targets) {
		t = bpf_map_lookup_elem(&tally_targets, &tid);
		if (!t || *t != TALLY_TARGET)
			return 0;
	}
	return !tally_config.cgroup || cgroup_is_below(task_cgroup(task, tally_config.subsys),
						       tally_config.cgroup);
}

static __always_inline struct tally_key key_of(struct task_struct *task)
{
	__u64 tgid = BPF_CORE_READ(task, tgid);
	struct tally_key k = {};
	struct cgroup *cgroup;

	switch (tally_config.by) {
	case TALLY_BY_THREAD:
		k.id = tgid << 32 | (__u32)BPF_CORE_READ(task, pid);
		k.start = BPF_CORE_READ(task, start_boottime);
		break;
	case TALLY_BY_PROCESS:
		k.id = tgid << 32;
		k.start = BPF_CORE_READ(task, group_leader, start_boottime);
		break;
	case TALLY_BY_CPU:
		k.id = bpf_get_smp_processor_id();
		break;
	case TALLY_BY_CGROUP:
		cgroup = task_cgroup(task, tally_config.subsys);
		k.id = BPF_CORE_READ(cgroup, kn, id);
		break;
	}
	return k;
}

/* The entry of @task, with its name as it is now. NULL: there is no room. */
static __always_inline struct tally_entry *entry_of(struct task_struct *task)
{
	struct tally_key k = key_of(task);
	struct tally_entry *e = bpf_map_lookup_elem(&tallies, &k);

	if (!e) {
		bpf_map_update_elem(&tallies, &k, &tally_empty, BPF_NOEXIST);
		e = bpf_map_lookup_elem(&tallies, &k);
	}
	if (!e)
		__sync_fetch_and_add(&tally_lost, 1);
	else if (tally_config.by == TALLY_BY_THREAD)
		bpf_core_read_str(e->comm, sizeof(e->comm), &task->comm);
	else if (tally_config.by == TALLY_BY_PROCESS)
		BPF_CORE_READ_STR_INTO(&e->comm, task, group_leader, comm);
	return e;
}

/* What was counted since the last time is that of @task; NULL: nobody's. */
static __always_inline void settle(struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct tally_before *before = bpf_map_lookup_elem(&tally_before, &zero);
	struct tally_entry *e = task ? entry_of(task) : NULL;

	if (!before)
		return;
	for (__u32 i = 0; i < TALLY_EVENTS && i < tally_config.events; i++) {
		struct tally_count *then = &before->counts[i];
		struct tally_count now;

		if (bpf_perf_event_read_value(&tally_events, i * tally_config.cpus + cpu,
					      (void *)&now, sizeof(now)))
			continue;
		if (e) {
			__sync_fetch_and_add(&e->counts[i].value, now.value - then->value);
			__sync_fetch_and_add(&e->counts[i].enabled, now.enabled - then->enabled);
			__sync_fetch_and_add(&e->counts[i].running, now.running - then->running);
		}
		*then = now;
	}
}

/* Arguments: preempted, prev, next. */
SEC("?tp_btf/sched_switch")
int tally_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	int leaves;

	if (!tally_on)
		return 0;
	leaves = is_counted(prev);
	if (leaves || is_counted(next))
		settle(leaves ? prev : NULL);
	return 0;
}

/* Arguments: parent, child. */
SEC("?tp_btf/sched_process_fork")
int tally_fork(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	__u32 from = parent->pid, to = child->pid, *t, on = TALLY_TARGET;

	t = bpf_map_lookup_elem(&tally_targets, &from);
	if (t && *t == TALLY_TARGET)
		bpf_map_update_elem(&tally_targets, &to, &on, BPF_ANY);
	return 0;
}

/* The command that we started is counted from here on. Argument: it. */
SEC("?tp_btf/sched_process_exec")
int tally_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 tid = task->pid, on = TALLY_TARGET, *t;

	t = bpf_map_lookup_elem(&tally_targets, &tid);
	if (!t || *t != TALLY_TARGET_AT_EXEC)
		return 0;
	settle(NULL);
	bpf_map_update_elem(&tally_targets, &tid, &on, BPF_EXIST);
	return 0;
}

/* Nobody runs as this thread any more. Argument: it. */
SEC("?tp_btf/sched_process_free")
int tally_free(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	__u32 tid = task->pid;

	bpf_map_delete_elem(&tally_targets, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
