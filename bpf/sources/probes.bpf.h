/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes: each hit of an event is a sample, of any number of events at once. Which of them it was
 * says the cookie of the place (5.15); without cookies there is one place for each program.
 *
 * A program on a uprobe may be preempted, and interrupted by those of other events, while all of
 * them work with the memory of one CPU: a hit that finds it in use is counted without its stack,
 * and a sample of another event that does is lost, and counted as such.
 */
#ifndef EBPROF_PROBES_BPF_H
#define EBPROF_PROBES_BPF_H

#include "bpf/probe_values.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/sources/probe_pace.bpf.h"
#include "bpf/sources/probe_slices.bpf.h"
#include "bpf/uprobe.bpf.h"

/*
 * Written by user space: places are set and taken away one after the other; they count when all
 * are there.
 */
__u32 probes_on;

static __always_inline int probe_is_wanted_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return !config.filter.by_cpu ||
	       config.filter.cpus[cpu / 64 & (EBP_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1;
}

static __always_inline __u64 place_of(void *ctx, enum ebp_probe_kind kind)
{
	if (config.probes.cookies &&
	    bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return EBP_PROBE_CLASS(bpf_get_attach_cookie(ctx));
	return config.probes.only[kind];
}

static __always_inline int probe_is_on(void)
{
	return probes_on && probe_is_wanted_cpu();
}

static __always_inline int probe_sample(struct sample *x, __u64 place)
{
	if (!sample_find(x, 1))
		return 0;
	x->key.kind = EBP_PROBED;
	x->key.class = place;
	return 1;
}

static __always_inline int probe_begin(struct sample *x, __u64 place)
{
	return probe_is_on() && probe_sample(x, place);
}

/* --- User code: uprobes. ---------------------------------------------------- */

/*
 * The stack, and the count of a hit that has this CPU's memory for itself. @languages as of
 * capture_user_as(); so below.
 */
static __always_inline void hit_alone(void *ctx, enum capture_at at, struct sample *x,
				      struct ebp_count *one, int languages)
{
	struct ebp_counters *c = x->capture.counters;
	int err = 0;

	if (config.probes.records) {
		leaf_registers(ctx, AT_CODE, &x->capture.unwind->regs);
		if (!probe_counts(&x->key, NULL, &x->capture.unwind->regs, one))
			return;
	}
	one->n = hits_due(x->key.class);
	if (!one->n)
		return;
	one->ns *= one->n;
	add_to(&c->taken, one->n);
	if (config.probes.overhead)
		add_to(&c->captured, 1);
	if (config.user)
		err = capture_user_as(ctx, at, &x->key, &x->capture, &x->task, languages);
	/* The stack that user space makes is that of the key's id. */
	if (err == RESCUED) {
		add_to(&c->sent, 1);
		err = 0;
	}
	if (err)
		add_to(&c->lost[EBP_LOST_RING], one->n);
	else if (count_at(&x->key, *one, bpf_ktime_get_ns()))
		add_to(&c->lost[EBP_LOST_MAP], one->n);
	else
		keep(c, one->n);
	pace_spend(one->n);
}

static __always_inline int hit_user_code(void *ctx, enum capture_at at, enum ebp_probe_kind kind,
					 int languages)
{
	struct ebp_count one = { .n = 1 };
	struct sample x;
	__u64 *busy;

	trap_began(ctx);
	busy = probes_at_work();
	if (!busy || traps_are_paused() || !probe_begin(&x, place_of(ctx, kind)))
		return 0;
	x.key.class = class_in_window(x.key.class);
	/*
	 * All of them are on this CPU, so who reads 1 is alone until it subtracts that again. Not
	 * by what an addition returns: that came with 5.12, on arm64 with 5.18.
	 */
	add_to(busy, 1);
	if (*(volatile __u64 *)busy == 1) {
		hit_alone(ctx, at, &x, &one, languages);
	} else {
		add_to(&x.capture.counters->taken, 1);
		x.key.result = EBP_BUSY;
		if (count_in_map(&x.key, one))
			add_to(&x.capture.counters->lost[EBP_LOST_MAP], 1);
		else
			keep(x.capture.counters, 1);
	}
	add_to(busy, -1);
	trap_took();
	return 0;
}

/* An instruction: of a function the first one, or any; or a USDT. */
UPROBE_WITH_STACKS(on_user_probe, EBP_SUCCEEDS_USER_PROBE)
{
	return hit_user_code(ctx, AT_CODE, EBP_PROBE_USER, languages);
}

/* A function has returned: the stack is that of its caller. */
UPROBE_WITH_STACKS(on_user_return, EBP_SUCCEEDS_USER_RETURN)
{
	return hit_user_code(ctx, AT_RETURN, EBP_PROBE_USER_RETURN, languages);
}

/* --- The kernel: programs that are not preempted. ---------------------------- */

/* A clock's sample may come meanwhile. */
static __always_inline void hit_kernel_alone(void *ctx, enum capture_at at, struct sample *x,
					     struct ebp_count worth)
{
	__u64 *busy = probes_at_work();

	if (!busy)
		return;
	add_to(busy, 1);
	sample_alone(ctx, at, x, worth, 1);
	add_to(busy, -1);
}

static __always_inline int hit_kernel_code(void *ctx, enum capture_at at, enum ebp_probe_kind kind)
{
	const void *record = kind == EBP_PROBE_TRACEPOINT ? ctx : NULL;
	struct ebp_count one = { .n = 1 };
	struct sample x;

	if (!probe_begin(&x, place_of(ctx, kind)) ||
	    (record && !probe_counts(&x.key, record, NULL, &one)))
		return 0;
	one.n = hits_due(x.key.class);
	if (!one.n)
		return 0;
	one.ns *= one.n;
	add_to(&x.capture.counters->taken, one.n);
	add_to(&x.capture.counters->captured, 1);
	if (!sample_interrupts(&x, one.n))
		hit_kernel_alone(ctx, at, &x, one);
	pace_spend(one.n);
	return 0;
}

/* A kprobe, or a kretprobe. */
SEC("?kprobe")
int on_kernel_probe(struct pt_regs *ctx)
{
	return hit_kernel_code(ctx, AT_KERNEL, EBP_PROBE_KERNEL);
}

SEC("?tracepoint")
int on_tracepoint_hit(void *ctx)
{
	return hit_kernel_code(ctx, AT_KERNEL, EBP_PROBE_TRACEPOINT);
}

/* A counter or a clock that is not the first one. */
SEC("?perf_event")
int on_counter_hit(struct bpf_perf_event_data *ctx)
{
	return hit_kernel_code(ctx, hit_kernel(ctx) ? AT_KERNEL : AT_USER, EBP_PROBE_COUNTER);
}

#endif
