/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples: a perf event (or a tracepoint) fires on a CPU; what runs there is sampled. */
#ifndef EBPROF_SAMPLES_BPF_H
#define EBPROF_SAMPLES_BPF_H

#include "bpf/sample.bpf.h"
#include "bpf/sources/skipped.bpf.h"
#include "bpf/succeeded.bpf.h"

static __always_inline int on_clock_or_counter(struct bpf_perf_event_data *ctx, int by_cgroup,
					       int languages)
{
	struct sample x;

	note_hit(REGS_PC(&ctx->regs));
	if (is_anothers_turn())
		return 0;
	read_meters();
	if (sample_begin(&x, by_cgroup))
		sample_stacks_as(ctx, hit_kernel(ctx) ? AT_KERNEL : AT_USER, &x, languages);
	return 0;
}

SEC("?perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	return on_clock_or_counter(ctx, 0, 1);
}

SEC("?perf_event")
int on_event_in_cgroup(struct bpf_perf_event_data *ctx)
{
	return on_clock_or_counter(ctx, 1, 1);
}

SEC("?perf_event")
int on_event_native(struct bpf_perf_event_data *ctx)
{
	return on_clock_or_counter(ctx, 0, 0);
}

SEC("?perf_event")
int on_event_native_in_cgroup(struct bpf_perf_event_data *ctx)
{
	return on_clock_or_counter(ctx, 1, 0);
}

/* In an interrupt, whose frames are left out. */
static __always_inline int sample_skipped(void *ctx, const void *timer, int by_cgroup)
{
	struct sample x;
	__u32 n, first;
	int err = 0;

	if (!was_skipped(ctx, timer))
		return 0;
	read_meters();
	if (!sample_begin(&x, by_cgroup) || sample_interrupts(&x, 1))
		return 0;
	if (config.kernel) {
		n = kernel_frames(ctx, x.capture.stack->frames);
		first = first_interrupted(n);
		if (n > first)
			err = finish_kernel_stack(&x.key, x.capture.stack, n, first, 0);
	}
	if (config.user && !x.task.userless && !err)
		err = capture_user_later(ctx, &x.key, &x.capture, &x.task);
	sample_end(&x, err, (struct ebp_count){ .n = 1 });
	return 0;
}

/* Behind any timer. Argument: it. */
SEC("?raw_tp/hrtimer_expire_exit")
int on_timer(struct bpf_raw_tracepoint_args *ctx)
{
	return sample_skipped(ctx, (void *)ctx->args[0], 0);
}

SEC("?raw_tp/hrtimer_expire_exit")
int on_timer_in_cgroup(struct bpf_raw_tracepoint_args *ctx)
{
	return sample_skipped(ctx, (void *)ctx->args[0], 1);
}

/* Hits of this CPU since the last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

static __always_inline int is_wanted_cpu(__u32 cpu)
{
	return config.filter.cpus[cpu / 64 & (EBP_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1;
}

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} tracepoint_successor SEC(".maps");

/* A tracepoint fires in the kernel, on whatever CPU: the kernel runs this for all of them. */
static __always_inline int on_any_tracepoint(void *ctx, int languages)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	struct sample x;
	__u64 *n;

	call_successor(ctx, &tracepoint_successor, 0);
	if (config.filter.by_cpu && !is_wanted_cpu(cpu))
		return 0;
	n = bpf_map_lookup_elem(&hits, &zero);
	if (!n || ++*n < config.samples.period)
		return 0;
	*n = 0;
	if (sample_begin(&x, 1))
		sample_stacks_as(ctx, AT_KERNEL, &x, languages);
	return 0;
}

SEC("?tracepoint")
int on_tracepoint(void *ctx)
{
	return on_any_tracepoint(ctx, 1);
}

SEC("?tracepoint")
int on_tracepoint_native(void *ctx)
{
	return on_any_tracepoint(ctx, 0);
}

#endif
