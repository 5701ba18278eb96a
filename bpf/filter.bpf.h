/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Is this task one that we were asked to sample? And the tracepoints that keep
 * the set of wanted processes true over fork, exec and exit.
 */
#ifndef EBPROF_FILTER_BPF_H
#define EBPROF_FILTER_BPF_H

#include "bpf/cgroup.bpf.h"
#include "bpf/config.bpf.h"

/* Wanted processes (or threads) -> enum ebp_target. Sized by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

/*
 * The same in a few ns, for what happens too often for a look-up: a byte for each id, of which the
 * higher bits are left out. 0 where an id is none of the targets; written by user space, too.
 */
#define TARGET_BYTES 32768
__u8 target_bytes[TARGET_BYTES];

/* One more of our own (config.filter.self), which begins when the programs are there; 0: none. */
__u32 own_loader;	/* written by user space */

static __always_inline int maybe_target(__u32 tgid, __u32 tid)
{
	__u32 id = config.filter.by_thread ? tid : tgid;

	if (!config.filter.by_process && !config.filter.by_thread)
		return 1;
	return target_bytes[id & (TARGET_BYTES - 1)];
}

static __always_inline int in_targets(__u32 id)
{
	__u32 *t = bpf_map_lookup_elem(&targets, &id);

	return t && *t == EBP_TARGET;
}

/* By the process's name, not the thread's: -n java means all of its threads. */
static __always_inline int comm_matches(struct task_struct *leader)
{
	char comm[EBP_COMM_LEN] = {};

	bpf_core_read_str(comm, sizeof(comm), &leader->comm);
#pragma unroll
	for (int i = 0; i < EBP_COMM_LEN; i++)
		if (comm[i] != config.filter.comm[i])
			return 0;
	return 1;
}

/*
 * The cheap tests first: most samples of a busy machine end here. @by_cgroup
 * is a constant: relocating the types of cgroups takes libbpf some ms, so
 * programs without that filter do not mention them.
 */
static __always_inline int task_wanted(struct task_struct *task, __u32 tgid, __u32 tid,
				       int by_cgroup)
{
	const volatile __u32 *self = config.filter.self;

	if (!tid && !config.filter.idle)
		return 0;
	if (tgid && tgid == own_loader)
		return 0;
	for (int i = 0; tgid && i < EBP_SELF_MAX; i++)
		if (tgid == self[i])
			return 0;
	if (config.filter.by_process && !in_targets(tgid))
		return 0;
	if (config.filter.by_thread && !in_targets(tid))
		return 0;
	if (config.filter.by_comm && !comm_matches(BPF_CORE_READ(task, group_leader)))
		return 0;
	return !by_cgroup || !config.filter.cgroup ||
	       cgroup_is_below(task_cgroup(task, config.filter.cgroup_subsys),
			       config.filter.cgroup);
}

static __always_inline int wanted(__u32 tgid, __u32 tid, int by_cgroup)
{
	return task_wanted((void *)bpf_get_current_task(), tgid, tid, by_cgroup);
}

#endif
