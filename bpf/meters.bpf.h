/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Meters: events that count on each CPU beside the one that is sampled. A sample has what they
 * counted on its CPU since the last one there, whoever that was of.
 */
#ifndef EBPROF_METERS_BPF_H
#define EBPROF_METERS_BPF_H

#include "bpf/count.bpf.h"

/* Meter and CPU -> the event's descriptor; sized and filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} meter_events SEC(".maps");

/* As the kernel reads an event (struct bpf_perf_event_value). */
struct meter_value {
	__u64 value, enabled, running;	/* times in ns */
};

struct meter_state {
	struct meter_value last[EBP_METERS_MAX];
	__u64 since[EBP_METERS_MAX];	/* what the current sample has */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct meter_state);
} meter_states SEC(".maps");

__u64 meters_lost;		/* values that could not be counted */

/*
 * What was counted between the two, scaled where there were more events than the CPU has counters:
 * in 1024ths, so that no product is too large.
 */
static __always_inline __u64 meter_counted(const struct meter_value *then,
					   const struct meter_value *now)
{
	__u64 value = now->value - then->value, running = now->running - then->running;
	__u64 enabled = now->enabled - then->enabled;

	if (!running || running >= enabled)
		return value;
	return value * ((enabled << 10) / running) >> 10;
}

/* At each hit of the event that is sampled, also of tasks that are not wanted. */
static __always_inline void read_meters(void)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct meter_state *s;

	if (!config.meters.n)
		return;
	s = bpf_map_lookup_elem(&meter_states, &zero);
	for (__u32 i = 0; s && i < EBP_METERS_MAX && i < config.meters.n; i++) {
		struct meter_value now;

		s->since[i] = 0;
		if (bpf_perf_event_read_value(&meter_events, i * config.meters.cpus + cpu,
					      (void *)&now, sizeof(now)))
			continue;
		if (s->last[i].enabled)
			s->since[i] = meter_counted(&s->last[i], &now);
		s->last[i] = now;
	}
}

/* What the meters have for the sample that was counted as @key. */
static __always_inline void count_meters(struct ebp_key *key)
{
	__u32 zero = 0;
	struct meter_state *s;

	if (!config.meters.n || key->kind != EBP_METERED)
		return;
	s = bpf_map_lookup_elem(&meter_states, &zero);
	for (__u32 i = 0; s && i < EBP_METERS_MAX && i < config.meters.n; i++) {
		struct ebp_count worth = { .ns = s->since[i] };

		if (!worth.ns)
			continue;
		key->class = i + 1;
		if (count(key, worth))
			__sync_fetch_and_add(&meters_lost, 1);
	}
	key->class = 0;
}

#endif
