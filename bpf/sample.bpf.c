/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sampler: a perf event (or a tracepoint) fires on a CPU, and if the task
 * that runs there is wanted, its stacks are taken and counted.
 */
#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/rescue.bpf.h"
#include "bpf/skipped.bpf.h"
#include "bpf/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RESCUED 1	/* user space counts this sample */

/* For in_kernel: */
#define AT_ENTRY 2	/* at the first instruction of a function, which is not to be seen */
#define IN_TIMER 3	/* in an interrupt, which is not to be seen */

/*
 * The registers of user code at this sample. Returns the system call that the task is in, or
 * negative.
 */
static __always_inline long leaf_registers(const void *ctx, int in_kernel, struct ebp_registers *to)
{
	const struct bpf_perf_event_data *event = ctx;

	if (in_kernel == AT_ENTRY) {
		saved_registers(to);
		UNDO_CALL(to->r);
		return -1;
	}
	if (in_kernel)
		return saved_registers(to);
	REGS_TO_DWARF(&event->regs, to->r);
	/*
	 * Else a compiler may make one code of this and the above, of which the verifier says that
	 * it uses different pointers.
	 */
	barrier();
	return -1;
}

/*
 * From the point of no return of an execve() on, the registers are those of a
 * program that is no more: there is no user stack. The new one's environment is told near the end
 * of it.
 */
static __always_inline int is_between_programs(long syscall)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return IS_EXEC(syscall) && !BPF_CORE_READ(task, mm, env_end);
}

/* The same for the rest of it, by what unwinding led to. */
static __always_inline int is_stale(long syscall, __u32 result)
{
	return IS_EXEC(syscall) &&
	       (result == EBP_NO_PROCESS || result == EBP_NO_MAPPING || result == EBP_UNREADABLE);
}

#define NEWBORN	4000000		/* ns that it has run, as the last tick of the scheduler knew */

/*
 * A thread that is about to come out of the clone() that made it, or just has: above there is
 * nothing yet.
 */
static __always_inline int is_newborn(const struct unwind_state *s, __u32 result)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return result == EBP_ZERO_RETURN && s->n == 1 &&
	       BPF_CORE_READ(task, se.sum_exec_runtime) < NEWBORN;
}

/* Sends the registers and the stack to user space, where that may help. 1 where they were sent. */
static __always_inline int rescue(const void *ctx, int in_kernel, const struct unwind_state *s,
				  struct ebp_key *key)
{
	struct ebp_rescue *r = rescue_room();

	if (!r || !config.rescue || !can_be_rescued(s, key->result))
		return 0;
	leaf_registers(ctx, in_kernel, &r->regs);
	/* The count of an interval comes when it ends; what is sent tells its stack. */
	if (key->kind != EBP_ON_CPU)
		key->user_id = hash_step(hash_step(config.seed, key->tid), bpf_ktime_get_ns()) | 1;
	return !send_for_rescue(r, key);
}

/*
 * Unwinds, and sends the stack where it is new. 0, RESCUED, or negative where it could not be sent.
 */
static __always_inline int user_stack(const void *ctx, int in_kernel, struct ebp_key *key,
				      struct unwind_state *s, struct ebp_counters *c,
				      __u64 process_id)
{
	struct ebp_stack *stack = (void *)s->head;
	long syscall = leaf_registers(ctx, in_kernel, &s->regs);

	if (is_between_programs(syscall))
		return 0;
	key->result = unwind_user(s, key->process.start);
	if (is_stale(syscall, key->result)) {
		key->result = EBP_COMPLETE;
		return 0;
	}
	if (is_newborn(s, key->result))
		key->result = EBP_COMPLETE;
	c->frames += s->n;
	c->fp_frames += s->fp_frames;
	c->untabled += key->result >= EBP_NO_PROCESS && key->result <= EBP_NO_TABLE;
	stack->head.type = EBP_STACK;
	stack->head.n = s->n;
	stack->process = (struct ebp_process){};
	if (s->raw) {
		s->hash = hash_step(s->hash, process_id);
		stack->process = key->process;
	}
	if (rescue(ctx, in_kernel, s, key))
		return RESCUED;
	if (key->result == EBP_NO_MAPPING && s->by_fp)
		key->result = EBP_NO_CFI;
	key->user_id = stack->id = s->hash ? s->hash : 1;
	return announce_stack(stack);
}

/*
 * The same, left to user space: a second program that unwinds would take as long to load as all
 * others together. RESCUED, or 0 where there is no stack.
 */
static __always_inline int user_stack_later(struct ebp_key *key)
{
	__u32 tgid = key->process.tgid;
	struct ebp_rescue *r = rescue_room();
	const struct ebp_space *space = bpf_map_lookup_elem(&spaces, &tgid);
	long syscall = r ? saved_registers(&r->regs) : NO_REGISTERS;

	if (is_between_programs(syscall))
		return 0;
	key->result = EBP_NO_PROCESS;
	if (!r || !config.rescue || (space && space->flags & EBP_SPACE_NO_RESCUE) ||
	    syscall == NO_REGISTERS)
		return 0;
	if (!send_for_rescue(r, key))
		return RESCUED;
	key->result = EBP_UNSENT;
	return 0;
}

/* The same for a 32-bit program. */
static __always_inline int user_stack32(void *ctx, struct ebp_key *key, struct ebp_stack *s,
					__u64 process_id)
{
	__u32 result, n = user_frames32(ctx, s->frames, &result);

	key->result = result;
	if (!n)
		return 0;
	s->head.type = EBP_STACK;
	s->head.n = n;
	s->process = key->process;
	s->id = key->user_id = hash_scratch(process_id, n, 0, 0);
	return announce_stack(s);
}

/* What lies in the scratch, @n addresses from the one at @first on. */
static __always_inline int announce_kernel_stack(struct ebp_key *key, struct ebp_stack *s, __u32 n,
						 __u32 first, __u32 returned)
{
	key->kernel_id = hash_scratch(config.seed, n, first, returned);
	s->head.type = EBP_KERNEL_STACK;
	s->head.n = n - first;
	s->id = key->kernel_id;
	s->process = (struct ebp_process){};
	return announce_stack(s);
}

static __always_inline int kernel_stack(void *ctx, int in_kernel, struct ebp_key *key,
					struct ebp_stack *s)
{
	__u32 n = kernel_frames(ctx, s->frames),
	      first = in_kernel == IN_TIMER ? first_interrupted(n) : 0;

	return n > first ? announce_kernel_stack(key, s, n, first, 0) : 0;
}

static __always_inline int sample(void *ctx, int in_kernel, int by_cgroup, int page_fault)
{
	__u64 id = bpf_get_current_pid_tgid(), process_id;
	struct unwind_state *state;
	struct task_facts task;
	struct ebp_key key = {};
	struct ebp_counters *c;
	struct ebp_stack *s;
	__u32 zero = 0;
	int err = 0;

	if (!wanted(id >> 32, (__u32)id, by_cgroup))
		return 0;
	c = bpf_map_lookup_elem(&counters, &zero);
	s = bpf_map_lookup_elem(&scratch, &zero);
	state = bpf_map_lookup_elem(&unwind_states, &zero);
	if (!c || !s || !state)
		return 0;
	c->taken++;

	read_task(&task);
	key.process.tgid = id >> 32;
	key.process.exec_id = task.exec_id;
	key.process.start = task.start;
	key.tid = id;
	if (page_fault)
		key.class = page_size(ctx);
	bpf_get_current_comm(key.comm, sizeof(key.comm));
	process_id = hash_process(&key.process);
	announce_process(&key.process, process_id);

	if (config.kernel && in_kernel)
		err = kernel_stack(ctx, in_kernel, &key, s);
	if (config.user && !task.userless && !err) {
		if (task.is32)
			err = user_stack32(ctx, &key, s, process_id);
		else if (in_kernel == IN_TIMER)
			err = user_stack_later(&key);
		else
			err = user_stack(ctx, in_kernel, &key, state, c, process_id);
		if (err == RESCUED) {
			c->sent++;
			keep(c);
			return 0;
		}
	}
	if (err)
		c->lost[EBP_LOST_RING]++;
	else
		record(c, &key, (struct ebp_count){ .n = 1 });
	return 0;
}

SEC("?perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	note_hit(REGS_PC(&ctx->regs));
	return sample(ctx, hit_kernel(ctx), 0, 0);
}

SEC("?perf_event")
int on_event_in_cgroup(struct bpf_perf_event_data *ctx)
{
	note_hit(REGS_PC(&ctx->regs));
	return sample(ctx, hit_kernel(ctx), 1, 0);
}

/* Behind any timer. Argument: it. */
SEC("?raw_tp/hrtimer_expire_exit")
int on_timer(struct bpf_raw_tracepoint_args *ctx)
{
	return was_skipped(ctx, (void *)ctx->args[0]) ? sample(ctx, IN_TIMER, 0, 0) : 0;
}

SEC("?raw_tp/hrtimer_expire_exit")
int on_timer_in_cgroup(struct bpf_raw_tracepoint_args *ctx)
{
	return was_skipped(ctx, (void *)ctx->args[0]) ? sample(ctx, IN_TIMER, 1, 0) : 0;
}

/* A page is there. User code touched it, or the kernel for it: the registers are of who did. */
SEC("?perf_event")
int on_page_fault(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, hit_kernel(ctx), 1, 1);
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

/* A tracepoint fires in the kernel, on whatever CPU: the kernel runs this for all of them. */
SEC("?tracepoint")
int on_tracepoint(void *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	__u64 *n;

	if (config.filter.by_cpu && !is_wanted_cpu(cpu))
		return 0;
	n = bpf_map_lookup_elem(&hits, &zero);
	if (!n || ++*n < config.samples.period)
		return 0;
	*n = 0;
	return sample(ctx, 1, 1, 0);
}

SEC("?raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	__u32 from = BPF_CORE_READ(parent, tgid), to = BPF_CORE_READ(child, tgid);
	struct ebp_space *space, copy;
	__u32 *t;

	if (from == to)
		return 0;
	/* The child runs the parent's code: it has its tables at its first instruction. */
	space = config.user ? bpf_map_lookup_elem(&spaces, &from) : NULL;
	if (space) {
		copy = *space;
		copy.start = BPF_CORE_READ(child, start_boottime);
		bpf_map_update_elem(&spaces, &to, &copy, BPF_ANY);
	}
	if (!config.filter.by_process || !config.filter.inherit)
		return 0;
	t = bpf_map_lookup_elem(&targets, &from);
	if (t) {
		target_bytes[to & (TARGET_BYTES - 1)] = 1;
		bpf_map_update_elem(&targets, &to, t, BPF_ANY);
	}
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

/* What was allocated is no more. */
static __always_inline void send_gone(struct task_struct *task, __u32 tgid)
{
	struct ebp_allocation_end end = {
		.head.type = EBP_GONE, .time = bpf_ktime_get_ns(),
		.process = {
			.tgid = tgid, .exec_id = BPF_CORE_READ(task, self_exec_id),
			.start = BPF_CORE_READ(task, group_leader, start_boottime),
		},
	};

	send(&end, sizeof(end), 0);
}

/* The last thread takes the entry along, so that a reused PID is not sampled. */
SEC("?raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (BPF_CORE_READ(task, signal, live.counter))
		return 0;
	if (config.alloc.on && in_targets(tgid))
		send_gone(task, tgid);
	bpf_map_delete_elem(&targets, &tgid);
	return 0;
}

#include "bpf/offcpu.bpf.h"
#include "bpf/alloc_any.bpf.h"
