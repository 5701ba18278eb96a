/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations of a process that runs already: uprobes on the functions of its
 * allocator itself, so each call costs two traps, and each free one, sampled
 * or not. Whether it is sampled is decided at the entry, before the stack is taken.
 *
 * What a call asks for is kept in the storage of its thread until it returns. Calls of the
 * allocator among its own functions are not calls of the program: while one is under way, what
 * enters a little deeper on the same stack is passed over, or as deep: by a jump instead of a call.
 */
#ifndef EBPROF_ALLOCATIONS_ANY_BPF_H
#define EBPROF_ALLOCATIONS_ANY_BPF_H

#include "bpf/slices.bpf.h"
#include "bpf/sources/allocations.bpf.h"
#include "bpf/threads.bpf.h"

#if defined(__TARGET_ARCH_x86)
#define ARGUMENT_2(ctx) ((ctx)->dx)
#define RETURNED(ctx) ((ctx)->ax)
#define STACK(ctx) ((ctx)->sp)
#define RETURN_POPS 8		/* a return takes its address off the stack */
#elif defined(__TARGET_ARCH_arm64)
#define ARGUMENT_2(ctx) ((ctx)->regs[2])
#define RETURNED(ctx) ((ctx)->regs[0])
#define STACK(ctx) ((ctx)->sp)
#define RETURN_POPS 0
#endif

#define OWN_STACK 4096		/* bytes that an allocator's own calls lie below the program's */
/*
 * Written by user space where it sets and takes away the probes as it goes: no call is sampled for
 * the moment; the ends of blocks are not seen, so nothing is kept of them; and a number, one more
 * each time that calls are sampled again.
 */
__u32 alloc_paused, alloc_endless, alloc_window;

#define LIVE_BLOCKS (1 << 20)	/* sampled blocks at one time; more are lost */
#define LOG_BITS 20

/* What is known of a thread. */
struct alloc_task {
	__u64 calls, spent;	/* struct ebp_sliced_thread */
	struct ebp_key key;	/* of a sampled block under way */
	__u64 sp;		/* at the entry of the call that is under way; 0: none */
	__u64 size;
	__u64 out;		/* where posix_memalign() writes the block to; 0: it is returned */
	/* id of the block that realloc() is to end, if it was sampled; 0: none */
	__u64 old;
	__u64 old_at;		/* where that lies */
	__s64 left;		/* bytes until the next sample */
	__u32 sampled;
	__u32 begun;		/* @left was drawn */
	/* alloc_window at the entry: the return of a call may go unseen between two of them */
	__u32 window;
	__u32 counts;		/* the call is one of @calls */
};

/* What others push out of the hash map is a call that is not sampled. */
THREAD_MAPS(alloc, BPF_MAP_TYPE_LRU_HASH, struct alloc_task);

struct live_key {
	__u64 process;		/* hash_process() */
	__u64 at;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LIVE_BLOCKS);
	__type(key, struct live_key);
	__type(value, __u64);	/* id of the block */
} live_blocks SEC(".maps");

/* What is known of the current thread; NULL: nothing, where it is not to be made. */
static __always_inline struct alloc_task *alloc_task(int make)
{
	return THREAD_VALUE(alloc, NULL, make);
}

/*
 * -ln of a random number between 0 and 1, times the interval: the binary logarithm, digit by digit.
 */
static __always_inline __s64 draw_distance(void)
{
	__u64 x = ((__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32()) | 1, m = x,
	      digits = 0;
	__u32 zeros = 0;

#pragma unroll
	for (int shift = 32; shift; shift /= 2)
		if (!(m >> (64 - shift))) {
			m <<= shift;
			zeros += shift;
		}
	m >>= 32;
#pragma unroll
	for (int i = 0; i < LOG_BITS; i++) {
		m = m * m >> 31;
		digits = digits << 1 | m >> 32;
		m >>= m >> 32;
	}
	/* ln 2 is 726817 / 2^20. */
	return (((__u64)(zeros + 1) << LOG_BITS) - digits) * 726817 >> LOG_BITS;
}

static __always_inline int is_sampled(struct alloc_task *t, __u64 size)
{
	if (!config.alloc.interval)
		return 1;
	if (!t->begun) {
		t->left = draw_distance() * config.alloc.interval >> LOG_BITS;
		t->begun = 1;
	}
	t->left -= size + !size;
	if (t->left >= 0)
		return 0;
	t->begun = 0;
	return 1;
}

static __always_inline __u64 take_live(const struct ebp_process *p, __u64 at)
{
	struct live_key key = { hash_process(p), at };
	__u64 *there, id;

	if (alloc_endless)
		return 0;
	there = bpf_map_lookup_elem(&live_blocks, &key);
	if (!there)
		return 0;
	id = *there;
	bpf_map_delete_elem(&live_blocks, &key);
	return id;
}

static __always_inline int put_live(const struct ebp_process *p, __u64 at, __u64 id)
{
	struct live_key key = { hash_process(p), at };

	if (alloc_endless)
		return 0;
	return bpf_map_update_elem(&live_blocks, &key, &id, BPF_ANY);
}

/* The CPU time since @since, unless another thread ran meanwhile, is our programs'. */
static __always_inline void add_spent(struct alloc_task *t, __u64 since, __u64 switches)
{
	if (times_preempted() == switches)
		t->spent += bpf_ktime_get_ns() - since;
}

/* The program calls for @size bytes; realloc() with the block @old. */
static __always_inline void begin_call(bpf_user_pt_regs_t *ctx, struct alloc_task *t,
				       const struct ebp_process *process,
				       const struct task_facts *task, __u64 size, __u64 old,
				       __u64 out, int languages)
{
	t->window = alloc_window;
	t->sp = STACK(ctx);
	t->size = size;
	t->out = out;
	t->old_at = old;
	t->old = old ? take_live(process, old) : 0;
	t->sampled = !alloc_paused && is_sampled(t, size);
	if (!t->sampled)
		return;
	__builtin_memset(&t->key, 0, sizeof(t->key));
	t->key.kind = EBP_ALLOCATED;
	t->key.process = *process;
	t->key.tid = bpf_get_current_pid_tgid();
	bpf_get_current_comm(t->key.comm, sizeof(t->key.comm));
	take_block_stack(ctx, &t->key, task, languages);
}

/* @counts: the trap is one of struct ebp_sliced_thread. */
static __always_inline int enter(bpf_user_pt_regs_t *ctx, __u64 size, __u64 old, __u64 out,
				 int counts, int languages)
{
	__u64 sp = STACK(ctx), since = bpf_ktime_get_ns(), switches = times_preempted();
	struct ebp_process process = {};
	struct task_facts task;
	struct alloc_task *t;

	if (!wanted_process(&process, &task) || task.is32)
		return 0;
	t = alloc_task(1);
	if (!t)
		return 0;
	t->counts = counts;
	t->calls += counts;
	if (!(t->sp >= sp && t->sp - sp < OWN_STACK && t->window == alloc_window))
		begin_call(ctx, t, &process, &task, size, old, out, languages);
	if (counts)
		add_spent(t, since, switches);
	return 0;
}

UPROBE_WITH_STACKS(on_malloc, EBP_SUCCEEDS_MALLOC)
{
	return enter(ctx, ARGUMENT_0(ctx), 0, 0, 0, languages);
}

UPROBE_WITH_STACKS(on_calloc, EBP_SUCCEEDS_CALLOC)
{
	return enter(ctx, ARGUMENT_0(ctx) * ARGUMENT_1(ctx), 0, 0, 0, languages);
}

UPROBE_WITH_STACKS(on_realloc, EBP_SUCCEEDS_REALLOC)
{
	return enter(ctx, ARGUMENT_1(ctx), ARGUMENT_0(ctx), 0, 0, languages);
}

UPROBE_WITH_STACKS(on_memalign, EBP_SUCCEEDS_MEMALIGN)
{
	return enter(ctx, ARGUMENT_1(ctx), 0, 0, 0, languages);
}

UPROBE_WITH_STACKS(on_posix_memalign, EBP_SUCCEEDS_POSIX_MEMALIGN)
{
	return enter(ctx, ARGUMENT_2(ctx), 0, ARGUMENT_0(ctx), 0, languages);
}

static __always_inline void end_sampled(struct ebp_counters *c, const struct ebp_process *p,
					__u64 id)
{
	struct ebp_allocation_end end = {
		.head.type = EBP_FREED, .time = bpf_ktime_get_ns(), .id = id, .process = *p,
	};

	if (send(&end, sizeof(end), 0))
		add_to(&c->ends_lost, 1);
}

/* The call of @t has given the block @at. */
static __always_inline void begin_sampled(struct ebp_counters *c, const struct alloc_task *t,
					  __u64 at)
{
	/*
	 * No two at one place are of one time. Not a counter: what an addition returns is not to be
	 * had before 5.12.
	 */
	__u64 id = hash_step(hash_step(hash_process(&t->key.process), at), bpf_ktime_get_ns()) | 1;
	__u64 stale = take_live(&t->key.process, at);

	/* It was freed in a way that we did not see. */
	if (stale)
		end_sampled(c, &t->key.process, stale);
	if (!put_live(&t->key.process, at, id)) {
		send_block(c, &t->key, id, t->size);
		return;
	}
	add_to(&c->taken, 1);
	add_to(&c->lost[EBP_LOST_MAP], 1);
}

static __always_inline void end_call(struct alloc_task *t, __u64 at)
{
	struct ebp_process process = {};
	struct ebp_counters *c;
	struct task_facts task;
	__u32 zero = 0;

	t->sp = 0;
	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c || (!t->old && !t->sampled) || !wanted_process(&process, &task))
		return;
	/* posix_memalign() gives an errno. */
	if (t->out && ((__u32)at || bpf_probe_read_user(&at, sizeof(at), (void *)t->out)))
		at = 0;
	if (t->old && !at && t->size)
		put_live(&process, t->old_at, t->old);
	else if (t->old)
		end_sampled(c, &process, t->old);
	if (at && t->sampled)
		begin_sampled(c, t, at);
}

UPROBE(on_returned)
{
	__u64 since = bpf_ktime_get_ns(), switches = times_preempted();
	struct alloc_task *t = alloc_task(0);

	if (!t || !t->sp || STACK(ctx) != t->sp + RETURN_POPS)
		return 0;
	end_call(t, RETURNED(ctx));
	if (t->counts)
		add_spent(t, since, switches);
	return 0;
}

static __always_inline int freed(bpf_user_pt_regs_t *ctx)
{
	struct ebp_process process = {};
	struct ebp_counters *c;
	struct task_facts task;
	__u32 zero = 0;
	__u64 id;

	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c || !ARGUMENT_0(ctx) || !wanted_process(&process, &task))
		return 0;
	id = take_live(&process, ARGUMENT_0(ctx));
	if (id)
		end_sampled(c, &process, id);
	return 0;
}

UPROBE(on_free)
{
	return freed(ctx);
}

/* All of them: cookies tell which function it is. */
UPROBE_WITH_STACKS(on_any_call, EBP_SUCCEEDS_ANY_CALL)
{
	__u64 kind = bpf_get_attach_cookie(ctx), size = ARGUMENT_0(ctx), old = 0, out = 0;
	struct ebp_counters *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counters, &zero);
	if (!c)
		return 0;
	add_to(kind == PROBE_FREE ? &c->alloc_ends :
	       kind == PROBE_REALLOC ? &c->alloc_resizes : &c->alloc_calls, 1);
	if (kind == PROBE_FREE)
		return freed(ctx);
	if (kind == PROBE_CALLOC) {
		size *= ARGUMENT_1(ctx);
	} else if (kind == PROBE_REALLOC) {
		old = size;
		size = ARGUMENT_1(ctx);
	} else if (kind == PROBE_MEMALIGN) {
		size = ARGUMENT_1(ctx);
	} else if (kind == PROBE_POSIX_MEMALIGN) {
		out = size;
		size = ARGUMENT_2(ctx);
	}
	return enter(ctx, size, old, out, kind != PROBE_REALLOC || alloc_endless, languages);
}

/* Each thread of the processes that are followed. */
SEC("?iter/task")
int list_alloc_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct alloc_task *t;

	if (!task || !in_targets(task->tgid))
		return 0;
	t = bpf_task_storage_get(&alloc_tasks, task, 0, 0);
	write_thread(ctx->meta, task, t ? t->calls : 0, t ? t->spent : 0);
	return 0;
}

#endif
