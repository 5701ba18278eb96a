/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits (waits.bpf.h): what is known of a thread, and how its intervals are counted when they end.
 */
#ifndef EBPROF_WAITS_COUNT_BPF_H
#define EBPROF_WAITS_COUNT_BPF_H

#include "bpf/count.bpf.h"
#include "bpf/threads.bpf.h"

/* include/linux/sched.h: states of a task. */
#define TASK_UNINTERRUPTIBLE	0x0002u
/* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
#define TASK_GONE		(0x0010u | 0x0020u | 0x0080u)
#define TASK_WAKING		0x0200u
#define TASK_NOLOAD		0x0400u	/* with the above: idle, not waiting for I/O */

#define CLASSES		4		/* of a thread, that are remembered */
/* enum ebp_kind from EBP_BLOCKED on; a power of two, so that a mask bounds it */
#define WAIT_KINDS	4
_Static_assert(EBP_RUNNABLE == EBP_BLOCKED + WAIT_KINDS - 1, "a kind of wait has no place");
/* ns: a class whose intervals are longer has its stacks taken always */
#define BRIEF		(256 * 1024ull)
#define WINDOW		(16 * 1024 * 1024ull)	/* ns, in which the budget is kept */
/* ns, after which what is counted in the storage of a thread goes to the maps */
#define FLUSH		(100 * 1000000ull)
#define ALWAYS		(1ull << 32)	/* as a probability */

/* What is known of a thread's time. */
struct off_task {
	struct ebp_key key;	/* of the interval that it is in */
	__u64 since;		/* it left the CPU then; 0: it has one */
	__u64 runtime;		/* ns of CPU time that it had had by then */
	__u64 woken;		/* somebody woke it then; 0: not yet */
	__u64 on_since;		/* config.waits.wall: it got the CPU then */
	__u64 ran;		/* config.waits.wall: ns on a CPU that are not counted yet */
	__u64 place;		/* of the interval's class in @classes */
	struct off_class {
		__u64 class;
		__u64 mean;	/* ns of its intervals, the last ones most */
		__u64 flushed;	/* then @counts were emptied */
		/* of intervals without stacks, by kind, that are in no map yet */
		struct ebp_count counts[WAIT_KINDS];
	} classes[CLASSES];
};

/*
 * In the hash map a thread that finds no room has its intervals lost. All of the map's memory is
 * there from the start, because switches may not wait for any.
 */
THREAD_MAPS(off, BPF_MAP_TYPE_HASH, struct off_task);

/* What is known of @task; NULL: nothing, where it is not to be made, or there is no room. */
static __always_inline struct off_task *off_task(struct task_struct *task, int make)
{
	return THREAD_VALUE(off, task, make);
}

static __always_inline void forget_task(const struct task_struct *task)
{
	forget_thread(&off_threads, task);
}

/*
 * What was before or comes after is not counted: attaching and detaching takes time. Set by user
 * space.
 */
__u64 off_began, off_ended;

static __always_inline __u64 within_recording(__u64 time)
{
	if (off_ended && time > off_ended)
		return off_ended;
	return time < off_began ? off_began : time;
}

/* How the budget of a CPU is kept. */
struct off_budget {
	__u64 window;		/* began then */
	__u64 spent;		/* ns in it */
	__u64 chance;		/* of taking a stack that may be left out, of 2^32 */
	__u32 busy;		/* stacks are being taken */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_budget);
} off_budgets SEC(".maps");

/*
 * That it is I/O is what io_schedule() marks (kernel/sched/core.c); locks, say that of the
 * mappings, are none.
 */
static __always_inline __u8 kind_of_state(struct task_struct *task, __u32 state, int preempted)
{
	if (preempted || !state)
		return EBP_RUNNABLE;
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) != TASK_UNINTERRUPTIBLE)
		return EBP_BLOCKED;
	if (!bpf_core_field_exists(task->in_iowait) ||
	    BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return EBP_DISK_WAIT;
	return EBP_UNINTERRUPTIBLE;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
	struct task_struct___before_5_14 *old = (void *)task;

	return bpf_core_field_exists(task->__state) ? BPF_CORE_READ(task, __state)
						    : BPF_CORE_READ(old, state);
}

/* @known: it was filled for this task before; then its name is that of then. */
static __always_inline void fill_key(struct ebp_key *key, struct task_struct *task, int known)
{
	key->user_id = key->kernel_id = 0;
	key->class = key->waker = 0;
	key->result = EBP_COMPLETE;
	key->share = EBP_OWN;
	if (known && key->process.exec_id == (__u32)task->self_exec_id)
		return;
	key->process.tgid = task->tgid;
	key->process.exec_id = task->self_exec_id;
	key->process.start = BPF_CORE_READ(task, group_leader, start_boottime);
	key->tid = task->pid;
	bpf_probe_read_kernel_str(key->comm, sizeof(key->comm), task->comm);
}

/* --- The end of an interval. ------------------------------------------------- */

/* 1 where an interval is to be counted. */
static __always_inline int is_wanted(struct ebp_counters *c, __u8 kind, __u64 ns)
{
	if (!(config.waits.states >> kind & 1))
		return 0;
	if (ns < config.waits.min_block) {
		c->brief++;
		c->brief_ns += ns;
		return 0;
	}
	return 1;
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_key);
} key_scratch SEC(".maps");

/*
 * Counts @n intervals of @ns together, of the key in the scratch; @time: of its own, or (0) a mere
 * count. 0, or negative where there is no room. A global function, which the verifier looks at
 * once and not at each place that calls it.
 */
__noinline int count_scratch(__u64 n, __u64 ns, __u64 time)
{
	struct ebp_count add = { .n = n, .ns = ns };
	__u32 zero = 0;
	struct ebp_key *key = bpf_map_lookup_elem(&key_scratch, &zero);

	if (!key)
		return -1;
	return time ? count_at(key, add, time) : count(key, add);
}

/*
 * What @t did between these two. Those without stacks are short and many, mostly, so they are added
 * up for a while; one that is long is worth its time.
 */
static __always_inline void count_part(struct ebp_counters *c, struct off_task *t,
				       struct off_class *k, __u8 kind, __u64 from, __u64 to)
{
	struct ebp_count *n = &k->counts[(kind - EBP_BLOCKED) & (WAIT_KINDS - 1)];
	__u64 ns = to - from;
	struct ebp_key *key;
	__u32 zero = 0;

	if (!is_wanted(c, kind, ns))
		return;
	if (t->key.share == EBP_OF_CLASS && (!config.timeline || ns <= BRIEF)) {
		n->n++;
		n->ns += ns;
		return;
	}
	key = bpf_map_lookup_elem(&key_scratch, &zero);
	if (!key)
		return;
	c->taken++;
	t->key.kind = kind;
	*key = t->key;
	keep_or_lose(c, 1, count_scratch(1, ns, from));
}

/* For what belongs to all of a thread's stacks, or those of one @class. */
static __always_inline struct ebp_key *key_of_group(const struct off_task *t, __u64 class)
{
	__u32 zero = 0;
	struct ebp_key *key = bpf_map_lookup_elem(&key_scratch, &zero);

	if (!key)
		return NULL;
	*key = t->key;
	key->user_id = key->kernel_id = key->waker = 0;
	key->class = class;
	key->share = EBP_OF_CLASS;
	key->result = EBP_COMPLETE;
	return key;
}

static __noinline void flush_class(struct ebp_counters *c, const struct off_task *t,
				   struct off_class *k, __u64 now)
{
	struct ebp_key *key = key_of_group(t, k->class);

	k->flushed = now;
	if (!key)
		return;
#pragma unroll
	for (int i = 0; i < WAIT_KINDS; i++) {
		struct ebp_count n = k->counts[i];

		if (!n.n)
			continue;
		k->counts[i] = (struct ebp_count){};
		key->kind = EBP_BLOCKED + i;
		c->taken += n.n;
		keep_or_lose(c, n.n, count_scratch(n.n, n.ns, 0));
	}
}

static __always_inline void flush_classes(struct ebp_counters *c, struct off_task *t, __u64 now)
{
#pragma unroll
	for (int i = 0; i < CLASSES; i++)
		flush_class(c, t, &t->classes[i], now);
}

/* The class's memory of how long its intervals are. */
static __always_inline void learn(struct ebp_counters *c, struct off_task *t, struct off_class *k,
				  __u64 ns, __u64 now)
{
	if (!t->key.class)
		return;
	if (k->class == t->key.class) {
		k->mean += ns / 8 - k->mean / 8;
		if (now - k->flushed < FLUSH)
			return;
	}
	flush_class(c, t, k, now);
	if (k->class != t->key.class)
		k->mean = ns;
	k->class = t->key.class;
}

static __noinline void end_interval(struct ebp_counters *c, struct off_task *t, __u64 now)
{
	struct off_class *k = &t->classes[t->place & (CLASSES - 1)];
	__u64 since = within_recording(t->since), woken = t->woken ? within_recording(t->woken) : 0;
	__u8 kind = t->key.kind;

	t->since = 0;
	now = within_recording(now);
	if (!off_began || now <= since)
		return;
	if (kind == EBP_RUNNABLE || woken < since || woken > now)
		woken = kind == EBP_RUNNABLE ? since : now;
	if (kind != EBP_RUNNABLE)
		count_part(c, t, k, kind, since, woken);
	t->key.waker = 0;
	if (woken < now)
		count_part(c, t, k, EBP_RUNNABLE, woken, now);
	learn(c, t, k, now - since, now);
}

/* CPU time that a thread has had, as time of all its samples. */
static __noinline void flush_ran(struct off_task *t, __u64 now, __u64 least)
{
	struct ebp_key *key;

	if (off_began && t->on_since && now > t->on_since)
		t->ran += within_recording(now) - within_recording(t->on_since);
	t->on_since = 0;
	if (t->ran <= least)
		return;
	key = key_of_group(t, 0);
	if (!key)
		return;
	key->kind = EBP_RUNNING;
	count_scratch(0, t->ran, 0);
	t->ran = 0;
}

#endif
