/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sampler: a perf event (or a tracepoint) fires on a CPU, and if the task
 * that runs there is wanted, its stacks are taken and counted.
 */
#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* struct ebp_stack with its room; a plain size, for the map's value. */
struct scratch {
	__u64 words[sizeof(struct ebp_stack) / sizeof(__u64) + EBP_FRAMES_MAX];
};

/* A stack is too big for BPF's own; sampling never nests on a CPU (bpf_prog_active). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline int sample(void *ctx, int in_kernel, int by_cgroup)
{
	__u64 id = bpf_get_current_pid_tgid(), process_id;
	struct task_facts task;
	struct ebp_key key = {};
	struct ebp_counters *c;
	__u32 zero = 0, n;
	struct ebp_stack *s;
	int err = 0;

	if (!wanted(id >> 32, (__u32)id, by_cgroup))
		return 0;
	c = bpf_map_lookup_elem(&counters, &zero);
	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!c || !s)
		return 0;
	c->taken++;

	read_task(&task);
	key.process.tgid = id >> 32;
	key.process.exec_id = task.exec_id;
	key.process.start = task.start;
	key.tid = cfg_per_thread ? (__u32)id : 0;
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	process_id = hash_process(&key.process);

	s->head.type = EBP_STACK;
	if (cfg_user && !task.kthread) {
		n = user_frames(ctx, s->frames, &key.result);
		if (n) {
			key.user_id = hash_frames(process_id, s->frames, n);
			s->head.n = n;
			s->id = key.user_id;
			s->process = key.process;
			err = announce_stack(s, process_id);
		}
	}
	if (!key.user_id)
		announce_process(&key.process, process_id);
	if (cfg_kernel && in_kernel && !err) {
		n = kernel_frames(ctx, s->frames);
		if (n) {
			key.kernel_id = hash_frames(cfg_seed, s->frames, n);
			s->head.n = n;
			s->id = key.kernel_id;
			s->process = (struct ebp_process){};
			err = announce_stack(s, 0);
		}
	}
	if (err) {
		c->lost[EBP_LOST_RING]++;
	} else if (count(&key)) {
		c->lost[EBP_LOST_MAP]++;
	} else {
		c->kept++;
		if (!first_sample)
			first_sample = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("?perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, hit_kernel(ctx), 0);
}

SEC("?perf_event")
int on_event_in_cgroup(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, hit_kernel(ctx), 1);
}

/* Hits of this CPU since the last sample. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} hits SEC(".maps");

/* A tracepoint fires in the kernel, on whatever CPU: the kernel runs this for all of them. */
SEC("?tracepoint")
int on_tracepoint(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	__u64 *n;

	if (cfg_by_cpu && !(cfg_cpus[cpu / 64 & (EBP_CPUS_MAX / 64 - 1)] >> (cpu & 63) & 1))
		return 0;
	n = bpf_map_lookup_elem(&hits, &zero);
	if (!n || ++*n < cfg_period)
		return 0;
	*n = 0;
	return sample(ctx, 1, 1);
}

SEC("?raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	__u32 *t;

	if (from == to)
		return 0;
	t = bpf_map_lookup_elem(&targets, &from);
	if (t)
		bpf_map_update_elem(&targets, &to, t, BPF_ANY);
	return 0;
}

SEC("?raw_tp/sched_process_exec")
int on_exec(void *ctx __attribute__((unused)))
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, on = EBP_TARGET;

	if (bpf_map_lookup_elem(&targets, &tgid))
		bpf_map_update_elem(&targets, &tgid, &on, BPF_EXIST);
	return 0;
}

/* The last thread takes the entry along, so that a reused PID is not sampled. */
SEC("?raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (!BPF_CORE_READ(task, signal, live.counter))
		bpf_map_delete_elem(&targets, &tgid);
	return 0;
}
