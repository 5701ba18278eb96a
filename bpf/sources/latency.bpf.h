/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long calls of a function take: probes at its entry and its return, which find each other by
 * the stack pointer, so that recursion is told apart, and calls that a jump or an exception left
 * have no return. Or the time from one probe to another in the same thread: each start begins
 * anew, and an end without a start counts for nothing. The stack is taken at the end, where that
 * took long enough; what a thread waited meanwhile is measured where it leaves a CPU and comes to
 * one.
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
#define PAIRS (EBP_PROBE_EVENTS / 2)	/* of probes: a start is followed by its end */
#define BUCKETS (64 * EBP_LATENCY_PARTS)

struct latency_call {
	__u64 sp;		/* at the entry */
	__u64 since;
	__u64 waited;		/* latency_task.waited then */
	__u64 event;
};

struct latency_start {
	__u64 since;
	__u64 waited;		/* latency_task.waited then */
	__u32 resumed;		/* probes_resumed then */
	__u32 user;		/* it was a uprobe */
};

struct latency_task {
	__u64 left;		/* when it left the CPU; 0: it is on one */
	__u64 waited;		/* ns, since its first call or start */
	__u32 depth;
	__u32 started;		/* a bit for each of @starts that has no end yet */
	/* probes_resumed of @calls: of those before, returns may have gone unseen */
	__u32 resumed;
	__u32 reserved;
	struct latency_call calls[CALLS];
	struct latency_start starts[PAIRS];
};
_Static_assert(PAIRS <= 32, "bits");

THREAD_MAPS(latency, BPF_MAP_TYPE_LRU_HASH, struct latency_task);

/* Calls by their time: struct for each event, see EBP_LATENCY_PARTS. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} latencies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EBP_PROBE_EVENTS);
	__type(key, __u32);
	__type(value, struct ebp_latency_sum);
} latency_sums SEC(".maps");

/* --- What has been measured. -------------------------------------------------- */

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

static __always_inline void forget_stack(struct ebp_key *key)
{
	key->user_id = 0;
	key->result = EBP_UNSENT;
}

/* The stack at the end: the user's, and where that is in the kernel the kernel's, too. */
static __always_inline void take_latency_stack(void *ctx, enum capture_at at, struct sample *x,
					       int in_kernel)
{
	struct ebp_counters *c = x->capture.counters;
	int err = 0;

	add_to(&c->captured, 1);
	if (in_kernel && config.kernel)
		err = capture_kernel(ctx, &x->key, &x->capture);
	if (!err && config.user && !x->task.userless)
		err = capture_user(ctx, at, &x->key, &x->capture, &x->task);
	if (err == RESCUED)
		add_to(&c->sent, 1);
	else if (err)
		forget_stack(&x->key);
}

/* What was waited is counted beside what was run: the same stack, of another share. */
static __always_inline void count_times(struct sample *x, __u64 n, __u64 running, __u64 waiting)
{
	struct ebp_counters *c = x->capture.counters;

	add_to(&c->taken, n);
	if (count_in_map(&x->key, (struct ebp_count){ .n = n, .ns = running })) {
		add_to(&c->lost[EBP_LOST_MAP], n);
		return;
	}
	keep(c, n);
	x->key.share = EBP_WAITED;
	if (waiting)
		count_in_map(&x->key, (struct ebp_count){ .ns = waiting });
}

/* One that has this CPU's memory for itself: with those that came before it, if a stack is due. */
static __always_inline void latency_alone(void *ctx, enum capture_at at, struct sample *x,
					  int in_kernel, __u64 ns, __u64 waited)
{
	__u32 event = EBP_PROBE_EVENT(x->key.class);
	struct ebp_latency_sum *sum = bpf_map_lookup_elem(&latency_sums, &event);

	if (!sum)
		return;
	sum->n++;
	sum->running += ns - waited;
	sum->waiting += waited;
	if (!pace_allows())
		return;
	take_latency_stack(ctx, at, x, in_kernel);
	count_times(x, sum->n, sum->running, sum->waiting);
	pace_spend(sum->n);
	*sum = (struct ebp_latency_sum){};
}

/* From the start to the end at @place it took @ns, of which the thread @waited. */
static __always_inline void latency_took(void *ctx, enum capture_at at, __u64 place, __u64 ns,
					 __u64 waited, int in_kernel)
{
	__u64 *busy = probes_at_work();
	struct sample x;

	/* Asked once: what is in the histogram is a sample, too, though all ends in between. */
	if (!probe_is_on())
		return;
	waited = waited < ns ? waited : ns;
	count_latency(EBP_PROBE_EVENT(place), ns);
	if (ns < config.probes.slower || !busy || !probe_sample(&x, place))
		return;
	/* Not by what an addition returns: see hit_user_code(). */
	add_to(busy, 1);
	if (*(volatile __u64 *)busy == 1) {
		latency_alone(ctx, at, &x, in_kernel, ns, waited);
	} else {
		x.key.result = EBP_BUSY;
		count_times(&x, 1, ns - waited, waited);
	}
	add_to(busy, -1);
}

/* --- Calls of a function. ------------------------------------------------------- */

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

UPROBE(on_latency_entry)
{
	__u64 sp = REGS_SP(ctx), id, place;
	struct latency_call *call;
	struct latency_task *t;
	__u32 depth;

	trap_began(ctx);
	id = bpf_get_current_pid_tgid();
	place = place_of(ctx, EBP_PROBE_LATENCY_ENTRY);
	if (!probes_on || traps_are_paused() || !wanted(id >> 32, (__u32)id, 1))
		return 0;
	t = THREAD_VALUE(latency, NULL, 1);
	if (!t)
		return 0;
	if (config.probes.sliced && t->resumed != probes_resumed) {
		t->resumed = probes_resumed;
		t->depth = 0;
	}
	drop_ended(t, sp);
	depth = t->depth;
	barrier_var(depth);
	if (depth >= CALLS)
		return 0;
	call = &t->calls[depth];
	call->sp = sp;
	call->waited = t->waited;
	call->event = EBP_PROBE_EVENT(place);
	t->depth = depth + 1;
	trap_took();
	call->since = bpf_ktime_get_ns();
	return 0;
}

UPROBE(on_latency_return)
{
	__u64 now = bpf_ktime_get_ns(), sp = REGS_SP(ctx) - RETURN_ADDRESS, place;
	struct latency_call *call;
	struct latency_task *t;
	__u32 top;

	trap_began_at(ctx, now);
	t = THREAD_VALUE(latency, NULL, 0);
	if (!t || traps_are_paused() || (config.probes.sliced && t->resumed != probes_resumed))
		return 0;
	/* What lies below has ended; at @sp is the one that returns. */
	if (sp)
		drop_ended(t, sp - 1);
	top = t->depth - 1;
	barrier_var(top);
	if (top >= CALLS)
		return 0;
	call = &t->calls[top];
	place = place_of(ctx, EBP_PROBE_LATENCY_RETURN);
	if (call->sp != sp || call->event + 1 != EBP_PROBE_EVENT(place))
		return 0;
	t->depth = top;
	latency_took(ctx, AT_RETURN, class_in_window(place), now - call->since,
		     t->waited - call->waited, 0);
	trap_took();
	return 0;
}

/* --- From one probe to another. --------------------------------------------------- */

/* A start is followed by its end: half of the number of either, or of the one before the end. */
static __always_inline __u32 pair_of(__u32 start)
{
	return start / 2 & (PAIRS - 1);
}

static __always_inline int latency_starts(void *ctx, enum ebp_probe_kind kind)
{
	int user = kind == EBP_PROBE_START_USER;
	struct latency_task *t;
	__u32 pair;
	__u64 id;

	if (user)
		trap_began(ctx);
	id = bpf_get_current_pid_tgid();
	pair = pair_of(EBP_PROBE_EVENT(place_of(ctx, kind)));
	if (!probes_on || (user && traps_are_paused()) || !wanted(id >> 32, (__u32)id, 1))
		return 0;
	t = THREAD_VALUE(latency, NULL, 1);
	if (!t)
		return 0;
	t->starts[pair].waited = t->waited;
	if (config.probes.sliced) {
		t->starts[pair].resumed = probes_resumed;
		t->starts[pair].user = user;
	}
	if (user)
		trap_took();
	t->starts[pair].since = bpf_ktime_get_ns();
	t->started |= 1u << pair;
	return 0;
}

/* What begins or ends at a uprobe is seen in one slice, or not at all. */
static __always_inline __u64 class_of_pair(const struct latency_start *s, __u64 place,
					   int in_kernel)
{
	if (!config.probes.sliced || (in_kernel && !s->user))
		return place;
	return s->resumed == probes_resumed ? class_in_window(place) : 0;
}

static __always_inline int latency_ends(void *ctx, enum capture_at at, enum ebp_probe_kind kind,
					int in_kernel)
{
	__u64 now = bpf_ktime_get_ns(), place = place_of(ctx, kind);
	__u32 pair = pair_of(EBP_PROBE_EVENT(place) - 1);
	struct latency_task *t;

	if (!in_kernel)
		trap_began_at(ctx, now);
	t = THREAD_VALUE(latency, NULL, 0);
	if (!t || (!in_kernel && traps_are_paused()))
		return 0;
	place = t->started >> pair & 1 ? class_of_pair(&t->starts[pair], place, in_kernel) : 0;
	t->started &= ~(1u << pair);
	if (place)
		latency_took(ctx, at, place, now - t->starts[pair].since,
			     t->waited - t->starts[pair].waited, in_kernel);
	if (!in_kernel)
		trap_took();
	return 0;
}

UPROBE(on_start_user)
{
	return latency_starts(ctx, EBP_PROBE_START_USER);
}

SEC("?kprobe")
int on_start_kernel(struct pt_regs *ctx)
{
	return latency_starts(ctx, EBP_PROBE_START_KERNEL);
}

SEC("?tracepoint")
int on_start_tracepoint(void *ctx)
{
	return latency_starts(ctx, EBP_PROBE_START_TRACEPOINT);
}

UPROBE(on_end_user)
{
	return latency_ends(ctx, AT_CODE, EBP_PROBE_END_USER, 0);
}

UPROBE(on_end_return)
{
	return latency_ends(ctx, AT_RETURN, EBP_PROBE_END_RETURN, 0);
}

SEC("?kprobe")
int on_end_kernel(struct pt_regs *ctx)
{
	return latency_ends(ctx, AT_KERNEL, EBP_PROBE_END_KERNEL, 1);
}

SEC("?tracepoint")
int on_end_tracepoint(void *ctx)
{
	return latency_ends(ctx, AT_KERNEL, EBP_PROBE_END_TRACEPOINT, 1);
}

/* --- Waiting. ---------------------------------------------------------------------- */

/* Arguments: preempted, prev, next. */
SEC("?tp_btf/sched_switch")
int on_latency_switch(__u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	struct latency_task *t;
	__u64 now = 0;

	if (maybe_target(prev->tgid, prev->pid)) {
		t = THREAD_VALUE(latency, prev, 0);
		if (t && (t->depth || t->started))
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
