/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sending a sample that cannot be unwound here to user space, with the leaf's
 * registers and the beginning of its stack.
 */
#ifndef EBPROF_RESCUE_BPF_H
#define EBPROF_RESCUE_BPF_H

#include "bpf/count.bpf.h"
#include "bpf/unwind.bpf.h"

/* the smallest there is: what lies in one of them can be read or not as a whole */
#define PAGE 4096u
/* psABI x86-64, 3.2.2; also where a register still is that an epilogue has just popped */
#define RED_ZONE 128
#define PAGES_MISSING 4		/* in a row, that are not there yet */
/* bytes above what the kernel pushed first: more than code at the root looks at */
#define ROOT_ROOM 256

/*
 * struct ebp_rescue with its room, and a page more, by which the verifier sees that no copy leaves
 * it.
 */
struct rescue_scratch {
	__u64 words[(sizeof(struct ebp_rescue) + EBP_STACK_COPY + PAGE) / 8];
};

/* One for each CPU: a value of a per-CPU map may have 32 KiB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rescue_scratch);
} rescue_scratch SEC(".maps");

static __always_inline struct ebp_rescue *rescue_room(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rescue_scratch, &cpu);
}

/*
 * Whether user space may do better than @result. A return address of 0 is what tables of a library
 * mostly find that is no more, until we have read of the one that took its place. Of code without
 * CFI it follows the instructions, if a file has them.
 */
static __always_inline int can_be_rescued(const struct unwind_state *s, __u32 result)
{
	if (CODE_TELLS && result == EBP_NO_CFI)
		return !s->no_cfi && !s->no_rescue;
	/* Nor does it know frames of a language. Else it can bring what is not in memory. */
	if ((result == EBP_ZERO_RETURN || result == EBP_UNREADABLE) && s->made)
		return 0;
	return result >= EBP_UNREADABLE &&
	       (result <= EBP_NO_TABLE || result == EBP_UNSUPPORTED ||
		result == EBP_LOST_REGISTER || result == EBP_ZERO_RETURN) &&
	       !s->no_rescue;
}

/*
 * How many bytes from @sp on may hold frames, and are sent. A process's first stack ends where
 * execve() put argc; above lie arguments and environment, mostly more than all frames of a program
 * that has just begun. A thread's ends where its thread-local storage begins (glibc, musl). Where
 * user space is late most stacks are sent, rather than whole ones.
 */
static __always_inline __u32 stack_limit(__u64 sp)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 left = BPF_CORE_READ(task, mm, start_stack) + ROOT_ROOM - sp, tls;
	__u64 most = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) < 2 * (__u64)config.ring_wake
			     ? EBP_STACK_COPY
			     : EBP_STACK_SHORT;

	tls = thread_pointer() - sp;
	left = tls < left ? tls : left;
	return left < most ? left & ~7u : most;
}

/*
 * Copies the page of the stack that is @done bytes from its beginning, of at most @limit in all,
 * into the scratch of this CPU, which knows where it begins and ends; returns what is done then,
 * @limit where there is no more. Pages of a frame that has just been made are not there yet: the
 * copy begins behind them, and passes over those in it. The verifier looks at this once, and not at
 * each page with all that those before may have led to.
 */
__noinline int copy_page(__u32 done, __u32 limit)
{
	struct ebp_rescue *r = rescue_room();
	__u32 size;
	__u64 from;

	if (!r || done >= limit)
		return limit;
	from = r->sp + done;
	size = PAGE - (from & (PAGE - 1));
	/* Where it fails it writes zeros. */
	if (!bpf_probe_read_user((void *)r->stack + (done & (EBP_STACK_COPY - 1)), size,
				 (void *)from)) {
		r->head.n = done + size;
		return done + size;
	}
	if (!r->head.n) {
		r->sp += size;
		return 0;
	}
	if (done + size - r->head.n > PAGES_MISSING * PAGE)
		return limit;
	r->holes |= 1u << (((r->sp & (PAGE - 1)) + done) / PAGE & 31);
	return done + size;
}

/* Copies the stack from @sp on, as far as it can be read; returns how many bytes. */
__noinline int copy_stack(__u64 sp)
{
	__u32 limit = stack_limit(sp), done = 0;
	struct ebp_rescue *r = rescue_room();

	if (!r)
		return 0;
	r->sp = sp;
	r->head.n = 0;
	r->holes = 0;
	for (__u32 i = 0; i <= EBP_STACK_COPY / PAGE + PAGES_MISSING; i++) {
		done = copy_page(done, limit);
		if (done >= limit)
			break;
	}
	return r->head.n < limit ? r->head.n & ~7u : limit;
}

/* 0 where it was sent, and is no concern of ours any more. */
static __always_inline int send_for_rescue(struct ebp_rescue *r, struct ebp_key *key)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	int urgent;
	__u32 size;

	/*
	 * Where user space does not keep up, what is left is for records a hundredth as long:
	 * better cut than lost.
	 */
	if (waiting >= 7 * (__u64)config.ring_wake / 2)
		return -1;
	/* What is counted later has an id by which its count finds the stack of this record. */
	if (EBP_COUNTS_LATER(key->kind))
		key->user_id = hash_step(hash_step(config.seed, key->tid), bpf_ktime_get_ns()) | 1;
	size = copy_stack(r->stop.n ? r->stop.sp : r->regs.r[REG_SP] - RED_ZONE);
	/* What lies above has to be read while it is there. */
	urgent = key->result == EBP_NO_MAPPING || waiting >= config.ring_wake ||
		 EBP_STACK_WAS_CUT(size);
	r->head.n = size;
	r->head.type = EBP_RESCUE;
	r->time = bpf_ktime_get_ns();
	r->cpu = bpf_get_smp_processor_id();
	r->key = *key;
	r->thread_pointer = r->runtime = 0;
	/*
	 * A clever compiler knows the bound from the function; the verifier does not, and before
	 * Linux 6.3 not from a copy of the register that was compared. So this is the last that
	 * happens.
	 */
	barrier_var(size);
	if (size > EBP_STACK_COPY)
		size = EBP_STACK_COPY;
	return bpf_ringbuf_output(&ring, r, sizeof(*r) + size,
				  urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
