/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long calls of a function take: probes at its entry and its return, which find each other by
 * the stack pointer, so that recursion is told apart, and calls that a jump or an exception left
 * have no return. The stack is taken at the return, of the calls that are slow enough; what a
 * thread waited meanwhile is measured where it leaves a CPU and comes to one.
 */
#ifndef EBPROF_LATENCY_BPF_H
#define EBPROF_LATENCY_BPF_H

#include "bpf/sources/probes.bpf.h"
#include "bpf/threads.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS 8	/* bytes that a return takes off the stack */
#else
#define RETURN_ADDRESS 0
#endif

#define CALLS 32		/* of a thread under way at one time, a power of two */
#define BUCKETS (64 * EBP_LATENCY_PARTS)

struct latency_call {
	__u64 sp;		/* at the entry */
	__u64 since;
	__u64 waited;		/* latency_task.waited then */
	__u64 event;
};

struct latency_task {
	__u64 left;		/* when it left the CPU; 0: it is on one */
	__u64 waited;		/* ns, since its first call */
	__u32 depth;
	struct latency_call calls[CALLS];
};

THREAD_MAPS(latency, BPF_MAP_TYPE_LRU_HASH, struct latency_task);

/* Calls by their time: struct for each event, see EBP_LATENCY_PARTS. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

/* Calls that lie below @sp, or at it, have ended unseen. */
static __always_inline void drop_ended(struct latency_task *t, __u64 sp)
{
	for (int i = 0; i < CALLS; i++) {
		__u32 top = t->depth - 1;

		/* As it is compared, so it is used: else the verifier cannot tell. */
		barrier_var(top);
		if (top >= CALLS || t->calls[top].sp > sp)
			return;
		t->depth = top;
	}
}

static __always_inline __u32 log2_of(__u64 x)
{
	__u32 n = 0;

#pragma unroll
	for (int shift = 32; shift; shift /= 2)
		if (x >> shift) {
			x >>= shift;
			n += shift;
		}
	return n;
}

static __always_inline void count_latency(__u64 event, __u64 ns)
{
	__u32 power = log2_of(ns), part, at;
	__u64 *n;

	/* The bits below the highest one tell the part of a power of two. */
	part = power < EBP_LATENCY_BITS ? 0 : ns >> (power - EBP_LATENCY_BITS);
	part &= EBP_LATENCY_PARTS - 1;
	at = event * BUCKETS + power * EBP_LATENCY_PARTS + part;
	n = bpf_map_lookup_elem(&latencies, &at);
	if (n)
		__sync_fetch_and_add(n, 1);
}

SEC("?uprobe")
int on_latency_entry(bpf_user_pt_regs_t *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), sp = REGS_SP(ctx);
	__u64 place = place_of(ctx, EBP_PROBE_LATENCY_ENTRY);
	struct latency_call *call;
	struct latency_task *t;
	__u32 depth;

	if (!probes_on || !wanted(id >> 32, (__u32)id, 1))
		return 0;
	t = THREAD_VALUE(latency, NULL, 1);
	if (!t)
		return 0;
	drop_ended(t, sp);
	depth = t->depth;
	barrier_var(depth);
	if (depth >= CALLS)
		return 0;
	call = &t->calls[depth];
	call->sp = sp;
	call->waited = t->waited;
	call->event = EBP_PROBE_EVENT(place);
	call->since = bpf_ktime_get_ns();
	t->depth = depth + 1;
	return 0;
}

/* What a call waited is counted beside what it took: the same stack, of another share. */
static __always_inline void count_waited(struct sample *x, __u64 ns)
{
	x->key.share = EBP_WAITED;
	if (ns)
		count_in_map(&x->key, (struct ebp_count){ .ns = ns });
}

static __always_inline void forget_stack(struct ebp_key *key)
{
	key->user_id = 0;
	key->result = EBP_UNSENT;
}

/* The call has taken @ns, of which it @waited. */
static __always_inline void call_took(void *ctx, __u64 place, __u64 ns, __u64 waited)
{
	__u64 *busy = probes_at_work();
	struct ebp_counters *c;
	struct sample x;

	waited = waited < ns ? waited : ns;
	count_latency(EBP_PROBE_EVENT(place), ns);
	if (ns < config.probes.slower || !busy || !probe_begin(&x, place))
		return;
	c = x.capture.counters;
	__sync_fetch_and_add(&c->taken, 1);
	__sync_fetch_and_add(busy, 1);
	if (*(volatile __u64 *)busy == 1) {
		int err = config.user ? capture_user(ctx, AT_RETURN, &x.key, &x.capture, &x.task)
				      : 0;

		if (err == RESCUED)
			__sync_fetch_and_add(&c->sent, 1);
		else if (err)
			forget_stack(&x.key);
	} else {
		x.key.result = EBP_BUSY;
	}
	if (count_in_map(&x.key, (struct ebp_count){ .n = 1, .ns = ns - waited })) {
		__sync_fetch_and_add(&c->lost[EBP_LOST_MAP], 1);
	} else {
		probe_kept(c, 1);
		count_waited(&x, waited);
	}
	__sync_fetch_and_add(busy, -1);
}

SEC("?uprobe")
int on_latency_return(bpf_user_pt_regs_t *ctx)
{
	__u64 place = place_of(ctx, EBP_PROBE_LATENCY_RETURN), now = bpf_ktime_get_ns();
	__u64 sp = REGS_SP(ctx) - RETURN_ADDRESS;
	struct latency_task *t = THREAD_VALUE(latency, NULL, 0);
	struct latency_call *call;
	__u32 top;

	if (!t)
		return 0;
	/* What lies below has ended; at @sp is the one that returns. */
	if (sp)
		drop_ended(t, sp - 1);
	top = t->depth - 1;
	barrier_var(top);
	if (top >= CALLS)
		return 0;
	call = &t->calls[top];
	if (call->sp != sp || call->event + 1 != EBP_PROBE_EVENT(place))
		return 0;
	t->depth = top;
	call_took(ctx, place, now - call->since, t->waited - call->waited);
	return 0;
}

/* Arguments: preempted, prev, next. */
SEC("?tp_btf/sched_switch")
int on_latency_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct latency_task *t;
	__u64 now = 0;

	if (maybe_target(prev->tgid, prev->pid)) {
		t = THREAD_VALUE(latency, prev, 0);
		if (t && t->depth)
			t->left = now = bpf_ktime_get_ns();
	}
	if (maybe_target(next->tgid, next->pid)) {
		t = THREAD_VALUE(latency, next, 0);
		if (t && t->left) {
			t->waited += (now ? now : bpf_ktime_get_ns()) - t->left;
			t->left = 0;
		}
	}
	return 0;
}

#endif
