/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Programs on probes work with this CPU's memory (stacks, walks) where others may interrupt them:
 * those on uprobes may also be preempted by one another. So they say when they do, and who comes in
 * the midst of one lets that memory be.
 *
 * A clock's event comes in the midst of one on a uprobe; where that is on a tracepoint the kernel
 * skips the event, but not what takes the sample then (sources/skipped.bpf.h).
 */
#ifndef EBPROF_AT_WORK_BPF_H
#define EBPROF_AT_WORK_BPF_H

#include "bpf/config.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} probes_busy SEC(".maps");

/* Of this CPU: how many such programs are at work. NULL: there are no probes. */
static __always_inline __u64 *probes_at_work(void)
{
	__u32 zero = 0;

	return config.probes.on ? bpf_map_lookup_elem(&probes_busy, &zero) : NULL;
}

static __always_inline int is_probe_at_work(void)
{
	const __u64 *busy = probes_at_work();

	return busy && *busy;
}

#endif
