/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Of which hits the stack is taken. Each hit is counted; one whose stack is taken stands for those
 * of its event that came before it on this CPU, so sums are exact. Where stacks may take a part of
 * a CPU's time only, each CPU has a credit, which grows with the time and which stacks use up. The
 * next hit after that is drawn by chance, or a stack that comes at each n-th hit would be met
 * always, or never.
 */
#ifndef EBPROF_PROBE_PACE_BPF_H
#define EBPROF_PROBE_PACE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"

/* ns, and at the beginning; where traps are bounded, too, it is of the same budget */
#define CREDIT_MAX (config.probes.sliced ? 2000000ll : 10000000ll)
#define PASSED_MAX 1000000000ull	/* ns for which credit is given at once */
/*
 * ns of one stack: the time beyond that others had, who preempted or interrupted it. Would it
 * count, one stack would stand for all that is hit while its credit comes back.
 */
#define SPENT_MAX 20000ull
#define DRAWN 16		/* at most so many hits are left out by chance, a power of two */

/* Hits of this CPU since the last sample, for each event. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBP_PROBE_EVENTS);
	__type(key, __u32);
	__type(value, __u64);
} probe_hits SEC(".maps");

struct probe_pace {
	__u64 since;		/* up to when the credit was given; 0: not begun */
	__s64 credit;		/* ns */
	__u64 began;		/* the stack that is taken now */
	__u64 skip;		/* hits to leave out */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_pace);
} probe_paces SEC(".maps");

static __always_inline struct probe_pace *pace_get(void)
{
	__u32 zero = 0;

	return config.probes.overhead ? bpf_map_lookup_elem(&probe_paces, &zero) : NULL;
}

/* 1 where a stack may be taken now. */
static __always_inline int pace_allows(void)
{
	struct probe_pace *p = pace_get();
	__u64 now, passed;

	if (!p)
		return 1;
	now = bpf_ktime_get_ns();
	passed = p->since && now > p->since ? now - p->since : 0;
	if (passed > PASSED_MAX)
		passed = PASSED_MAX;
	p->credit += p->since ? (__s64)(passed * config.probes.overhead >> 32) : CREDIT_MAX;
	if (p->credit > CREDIT_MAX)
		p->credit = CREDIT_MAX;
	p->since = p->began = now;
	if (p->credit <= 0)
		return 0;
	if (p->skip) {
		p->skip--;
		return 0;
	}
	return 1;
}

/* The stack has been taken, for @n hits. */
static __always_inline void pace_spend(__u64 n)
{
	struct probe_pace *p = pace_get();
	__u64 spent;

	if (!p)
		return;
	spent = bpf_ktime_get_ns() - p->began;
	p->credit -= spent < SPENT_MAX ? spent : SPENT_MAX;
	if (n > 1)
		p->skip = bpf_get_prandom_u32() & (DRAWN - 1);
}

/* How many periods of hits a sample stands for that is taken now; 0: none is. */
static __always_inline __u64 hits_due(__u64 place)
{
	__u32 event = EBP_PROBE_EVENT(place);
	__u64 *hits, n;

	if (config.probes.period <= 1 && !config.probes.overhead)
		return 1;
	hits = bpf_map_lookup_elem(&probe_hits, &event);
	if (!hits)
		return 0;
	n = ++*hits;
	if (n < config.probes.period || !pace_allows())
		return 0;
	if (config.probes.period > 1)
		n /= config.probes.period;
	*hits -= config.probes.period > 1 ? n * config.probes.period : n;
	return n;
}

#endif
