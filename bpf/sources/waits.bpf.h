/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where threads wait: the time between leaving a CPU and being on one again,
 * by the stacks with which they left.
 *
 * sched_switch knows the stacks of who leaves, and how long it was away of who
 * comes. Each interval's length is measured and counted: nothing of it is ever
 * estimated. Taking stacks is what costs, so where that would exceed its budget,
 * it is left out at random for intervals of a *class* that is known to be short: a
 * class is a thread and the place in user code (pc, sp, fp) from which it left. User
 * space divides the time of a class without stacks among the stacks of that class.
 *
 * What comes in between is the waker's doing: sched_waking splits an interval
 * into waiting for an event and waiting for a CPU.
 *
 * Both tracepoints run with interrupts off, so a sampling timer does not come in
 * between, and the scratch memory of the sampler serves here. (An NMI would, so hardware
 * events are not sampled at the same time.)
 */
#ifndef EBPROF_WAITS_BPF_H
#define EBPROF_WAITS_BPF_H

#include "bpf/capture.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/sources/waits_count.bpf.h"

/* Written by user space before a thread is followed: to find it takes as long as to load. */
struct ebp_kernel_text kernel_text;

/* --- Its beginning. ------------------------------------------------------------ */

/*
 * Where the thread's memory has the class of the interval that begins. One that is not there will
 * take any place: were it a certain one, two classes of that place would drive each other out at
 * each interval, and the stacks of both be taken always.
 */
static __always_inline void place_class(struct off_task *t)
{
	__u32 place = CLASSES;

#pragma unroll
	for (__u32 i = 0; i < CLASSES; i++)
		if (t->classes[i].class == t->key.class)
			place = i;
	t->place = place < CLASSES ? place : bpf_get_prandom_u32() & (CLASSES - 1);
}

/*
 * Whether the stacks are to be taken; most are. A CPU where none was taken yet has no window, and
 * its chance is 0, which only a stack that is taken there changes.
 */
static __always_inline int worth_it(const struct off_task *t, struct off_budget *b)
{
	const struct off_class *k = &t->classes[t->place & (CLASSES - 1)];

	return k->class != t->key.class || k->mean > BRIEF || !b->window || b->chance >= ALWAYS ||
	       bpf_get_prandom_u32() < b->chance;
}

/* At the end of a window the chance follows from what the last one cost. */
static __always_inline void spend(struct off_budget *b, __u64 from, __u64 to)
{
	__u64 least = WINDOW * (config.waits.overhead >> 16) >> 16, passed;

	b->spent += to - from;
	passed = to - b->window;
	if (passed < WINDOW)
		return;
	least = passed > 64 * WINDOW ? 64 * least : least * (passed / WINDOW);
	if (b->spent > 2 * least)
		b->chance = (b->chance >> 8) * least / b->spent << 8;
	else if (b->spent * 2 < least)
		b->chance *= 2;
	else if (b->spent > least)
		b->chance -= b->chance / 8;
	else
		b->chance += b->chance / 16;
	if (b->chance > ALWAYS || !b->window)
		b->chance = ALWAYS;
	if (b->chance < ALWAYS >> 12)
		b->chance = ALWAYS >> 12;
	b->window = to;
	b->spent = 0;
}

#define SCHEDULER_FRAMES 16	/* of tracing and of the scheduler, at a leaf, at most */

#define IN_TEXT(address, range) ((address) >= (range)[0] && (address) < (range)[1])

/*
 * The first frame behind the last one in @text, where the scheduler's own code and that of
 * tracing end: all waits would have them, and the kernel leaves them out of stacks of
 * threads that sleep (in_sched_functions()).
 */
static __always_inline __u32 first_frame(const __u64 *frames, __u32 n, const volatile __u64 *text)
{
	__u32 first = 0;

#pragma unroll
	for (__u32 i = 0; i < SCHEDULER_FRAMES; i++)
		if (i < n && IN_TEXT(frames[i], text))
			first = i + 1;
	return first < n ? first : 0;
}

static __always_inline int stack_behind(void *ctx, struct ebp_key *key, struct ebp_stack *s,
					const volatile __u64 *text)
{
	__u32 n = kernel_frames(ctx, s->frames);

	return n ? finish_kernel_stack(key, s, n, first_frame(s->frames, n, text), 1) : 0;
}

/*
 * The stacks of the current task into @key, without what lies in @text; their ids are 0 where they
 * could not be sent. @languages as of capture_user_as(); so below.
 */
static __always_inline void take_stacks(void *ctx, struct ebp_key *key, struct capture *c,
					const struct task_facts *facts, const volatile __u64 *text,
					int languages)
{
	int err = 0;

	capture_process(c, key);
	if (config.kernel)
		err = stack_behind(ctx, key, c->stack, text);
	if (err)
		key->kernel_id = 0;
	if (!config.user || facts->userless)
		return;
	key->kind = key->kind == EBP_ON_CPU ? EBP_BLOCKED : key->kind;
	err = capture_user_as(ctx, AT_KERNEL, key, c, facts, languages);
	if (err == RESCUED) {
		c->counters->sent++;
	} else if (err) {
		key->user_id = 0;
		key->result = EBP_UNSENT;
	}
}

/* A switch was not seen: it came to its CPU @ran ns ago. */
static __always_inline void came_unseen(struct ebp_counters *c, struct off_task *t, __u64 now,
					__u64 ran)
{
	__u64 came = ran < now - t->since ? now - ran : t->since;

	end_interval(c, t, came);
	t->on_since = came;
}

static __always_inline __u64 class_of(const struct ebp_key *key, const struct task_facts *facts)
{
	__u64 h = hash_step(config.seed, (__u64)key->tid << 32 | key->process.exec_id);
	bpf_user_pt_regs_t *regs;
	__u32 zero = 0;

	regs = bpf_map_lookup_elem(&user_registers, &zero);
	if (!facts->userless && regs &&
	    !bpf_probe_read_kernel(regs, sizeof(*regs), registers_place()))
		h = hash_step(hash_step(hash_step(h, REGS_PC(regs)), REGS_SP(regs)), REGS_FP(regs));
	return h ? h : 1;
}

/*
 * The key of an interval that begins now. What is not counted yet belongs to the program that the
 * task ran before an exec.
 */
static __always_inline void renew_key(struct ebp_counters *c, struct off_task *t,
				      struct task_struct *task, __u64 now)
{
	int known = t->key.tid == (__u32)task->pid;

	if (known && t->key.process.exec_id != (__u32)task->self_exec_id)
		flush_classes(c, t, now);
	fill_key(&t->key, task, known);
}

static __always_inline void leave_cpu(void *ctx, struct task_struct *task, __u32 state,
				      int preempted, __u64 now, int languages)
{
	struct off_budget *budget;
	struct capture capture;
	struct task_facts facts;
	struct ebp_counters *c;
	struct off_task *t;
	__u32 zero = 0;

	if (!task_wanted(task, task->tgid, task->pid, 1)) {
		if (state & TASK_GONE)
			forget_task(task);
		return;
	}
	if (!capture_begin(&capture))
		return;
	c = capture.counters;
	t = off_task(task, 1);
	budget = bpf_map_lookup_elem(&off_budgets, &zero);
	if (!t && !has_task_storage() && !(state & TASK_GONE)) {
		c->taken++;
		c->lost[EBP_LOST_MAP]++;
	}
	if (!t || !budget)
		return;
	if (t->since)
		came_unseen(c, t, now, task->se.sum_exec_runtime - t->runtime);
	renew_key(c, t, task, now);
	if (config.waits.wall)
		flush_ran(t, now, state & TASK_GONE ? 0 : FLUSH);
	if (state & TASK_GONE) {
		flush_classes(c, t, now);
		t->since = 0;
		forget_task(task);
		return;
	}
	c->switches++;
	read_task(&facts);
	t->key.kind = kind_of_state(task, state, preempted);
	t->key.class = class_of(&t->key, &facts);
	place_class(t);
	t->woken = state & TASK_WAKING ? now : 0;
	t->since = now;
	t->runtime = task->se.sum_exec_runtime;
	if (!worth_it(t, budget)) {
		t->key.share = EBP_OF_CLASS;
		return;
	}
	c->captured++;
	bpf_get_current_comm(t->key.comm, sizeof(t->key.comm));
	budget->busy = 1;
	take_stacks(ctx, &t->key, &capture, &facts, kernel_text.sched, languages);
	budget->busy = 0;
	spend(budget, now, bpf_ktime_get_ns());
}

static __always_inline void enter_cpu(struct task_struct *task, __u64 now)
{
	struct off_task *t = off_task(task, 0);
	struct ebp_counters *c;
	__u32 zero = 0;

	if (!t)
		return;
	if (config.waits.wall)
		t->on_since = now;
	if (!t->since)
		return;
	c = bpf_map_lookup_elem(&counters, &zero);
	if (c)
		end_interval(c, t, now);
}

static __always_inline int switched(__u64 *ctx, int languages)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	int leaves = (prev->pid || config.filter.idle) && maybe_target(prev->tgid, prev->pid);
	int comes = (next->pid || config.filter.idle) && maybe_target(next->tgid, next->pid);
	__u64 now;

	/* Of most switches nothing is wanted. */
	if ((!leaves && !comes) || is_anothers_turn())
		return 0;
	now = bpf_ktime_get_ns();
	if (leaves)
		leave_cpu(ctx, prev, config.waits.switch_state ? (__u32)ctx[3] : state_of(prev),
			  ctx[0] & 1, now, languages);
	if (comes)
		enter_cpu(next, now);
	return 0;
}

/* Arguments: preempted, prev, next, and since 5.18 prev's state (fa2c3254d7cf). */
SEC("?tp_btf/sched_switch")
int on_switch(__u64 *ctx)
{
	return switched(ctx, 1);
}

SEC("?tp_btf/sched_switch")
int on_switch_native(__u64 *ctx)
{
	return switched(ctx, 0);
}

#define INTERRUPT_FRAMES 32	/* from a wake-up to where its interrupt came in, at most */

/* Whether the current task is not the one that wakes somebody, but was interrupted by what does. */
static __always_inline int in_interrupt(void *ctx, __u64 *frames)
{
	long n = bpf_get_stack(ctx, frames, INTERRUPT_FRAMES * sizeof(*frames), 0);

	/*
	 * Soft interrupts are not asked for: those outside of a hard one are the current task's own
	 * doing.
	 */
	for (int i = 0; i < INTERRUPT_FRAMES && i * (long)sizeof(*frames) < n; i++)
		if (IN_TEXT(frames[i], kernel_text.irq))
			return 1;
	return 0;
}

/* Who wakes the thread of @t: the current task, with its stacks. */
static __always_inline void take_waker(void *ctx, struct off_task *t, int languages)
{
	struct ebp_waker w = { .head.type = EBP_WAKER };
	struct off_budget *budget;
	struct task_facts facts;
	struct capture capture;
	__u64 id = bpf_get_current_pid_tgid();
	__u32 zero = 0, at;
	__u64 *slot;

	budget = bpf_map_lookup_elem(&off_budgets, &zero);
	if (!capture_begin(&capture) || !budget || budget->busy)
		return;
	if ((__u32)id && !in_interrupt(ctx, capture.stack->frames)) {
		__u64 from = bpf_ktime_get_ns();

		read_task(&facts);
		w.key.process = (struct ebp_process){ .tgid = id >> 32,
						      .exec_id = facts.exec_id,
						      .start = facts.start };
		w.key.tid = id;
		bpf_get_current_comm(w.key.comm, sizeof(w.key.comm));
		budget->busy = 1;
		take_stacks(ctx, &w.key, &capture, &facts, kernel_text.wake, languages);
		budget->busy = 0;
		spend(budget, from, bpf_ktime_get_ns());
	}
	/* With its process: another one of that thread's id is told again. */
	w.id = hash_step(
		hash_step(hash_step(hash_process(&w.key.process), w.key.tid), w.key.user_id),
		w.key.kernel_id);
	at = w.id & (config.seen_stacks - 1);
	slot = bpf_map_lookup_elem(&seen_stacks, &at);
	if (!slot || (*slot != w.id && send(&w, sizeof(w), 0)))
		return;
	*slot = w.id;
	t->key.waker = w.id;
}

static __always_inline int waking(__u64 *ctx, int languages)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct off_task *t;

	t = maybe_target(task->tgid, task->pid) ? off_task(task, 0) : NULL;
	if (!t || !t->since || t->woken || is_anothers_turn())
		return 0;
	t->woken = bpf_ktime_get_ns();
	if (config.waits.wakers && t->key.share == EBP_OWN)
		take_waker(ctx, t, languages);
	return 0;
}

/* Argument: who is to wake up. */
SEC("?tp_btf/sched_waking")
int on_waking(__u64 *ctx)
{
	return waking(ctx, 1);
}

SEC("?tp_btf/sched_waking")
int on_waking_native(__u64 *ctx)
{
	return waking(ctx, 0);
}

/* Argument: a new thread. It waits for its first time on a CPU. */
SEC("?tp_btf/sched_wakeup_new")
int on_new_task(__u64 *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx[0];
	struct off_task *t;

	if (!task_wanted(task, task->tgid, task->pid, 1))
		return 0;
	t = off_task(task, 1);
	if (!t)
		return 0;
	fill_key(&t->key, task, 0);
	t->key.kind = EBP_RUNNABLE;
	t->since = bpf_ktime_get_ns();
	return 0;
}

/* --- Threads that wait when the recording begins, and when it ends. -------------- */

/* Before the first switch is followed: no other program uses the scratch memory. */
SEC("?iter/task")
int begin_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ebp_counters *c;
	struct ebp_rescue *r;
	struct ebp_stack *s;
	struct off_task *t;
	__u32 zero = 0;
	long n, call;

	if (!task || !task_wanted(task, task->tgid, task->pid, 1))
		return 0;
	t = off_task(task, 1);
	s = bpf_map_lookup_elem(&scratch, &zero);
	r = rescue_room();
	c = bpf_map_lookup_elem(&counters, &zero);
	if (!t || !s || !r)
		return 0;
	fill_key(&t->key, task, 0);
	if (task->on_cpu) {
		t->on_since = bpf_ktime_get_ns();
		return 0;
	}
	t->key.kind = kind_of_state(task, state_of(task), 0);
	t->since = bpf_ktime_get_ns();
	t->runtime = task->se.sum_exec_runtime;
	announce_process(&t->key.process, hash_process(&t->key.process));
	n = 0;
	if (config.kernel)
		n = bpf_get_task_stack(task, s->frames, config.frames * sizeof(*s->frames), 0);
	if (n > 0 && finish_kernel_stack(&t->key, s, n / sizeof(*s->frames), 0, 1))
		t->key.kernel_id = 0;
	if (!config.user || task->flags & PF_KTHREAD || !BPF_CORE_READ(task, mm))
		return 0;
	call = registers_of(task, &r->regs);
	/*
	 * Who was interrupted and can go on may do so before its stack is read, and come to the
	 * same place of the stack again.
	 */
	if (call == NO_REGISTERS || (call == -1 && t->key.kind == EBP_RUNNABLE))
		return 0;
	/* Its memory cannot be read from here: user space does, by a record without stack. */
	t->key.user_id = hash_step(hash_step(hash_process(&t->key.process), t->key.tid), t->since) |
			 1;
	r->head.type = EBP_RESCUE;
	r->head.n = 0;
	r->holes = r->newborn = 0;
	r->lang_id = 0;
	r->stop.n = 0;
	r->thread_pointer = BPF_CORE_READ(task, THREAD_POINTER);
	r->runtime = t->runtime;
	r->time = t->since;
	r->sp = r->regs.r[REG_SP];
	t->key.result = EBP_NO_PROCESS;
	r->key = t->key;
	if (send(r, sizeof(*r), 0)) {
		t->key.user_id = 0;
		t->key.result = EBP_UNSENT;
	} else if (c) {
		c->sent++;
	}
	return 0;
}

/* After the last one: what is under way counts as far as it has come. */
SEC("?iter/task")
int end_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct off_task *t = task ? off_task(task, 0) : NULL;
	__u64 now = bpf_ktime_get_ns();
	struct ebp_counters *c;
	__u32 zero = 0;

	c = bpf_map_lookup_elem(&counters, &zero);
	if (!t || !c)
		return 0;
	if (config.waits.wall)
		flush_ran(t, now, 0);
	if (t->since)
		end_interval(c, t, now);
	flush_classes(c, t, now);
	return 0;
}

#endif
