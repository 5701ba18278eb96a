/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF programs and user space say to each other: fixed width, no
 * implicit padding, every size asserted. Addresses are those of the kernel or
 * of the process named beside them; times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef EBPROF_WIRE_H
#define EBPROF_WIRE_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define EBP_COMM_LEN	16	/* TASK_COMM_LEN */
/* frames of one stack; all ones, so that a mask bounds it for the verifier */
#define EBP_FRAMES_MAX	511
/* words of one user stack: its native frames, and those of an interpreter behind them */
#define EBP_WORDS_MAX	2047
#define EBP_SELF_MAX	8	/* processes of ebprof */
#define EBP_METERS_MAX	8	/* events that are counted beside one that is sampled */
#define EBP_CPUS_MAX	8192	/* NR_CPUS of the largest distribution kernels */

/* A program in a process: tells reused PIDs and each exec apart. */
struct ebp_process {
	__u32 tgid;
	__u32 exec_id;		/* task->self_exec_id: one more at each exec */
	__u64 start;		/* the leader's start_boottime: CLOCK_BOOTTIME ns */
};
_Static_assert(sizeof(struct ebp_process) == 16, "wire");

/* How the unwinding of a sample's user stack ended; a stack that is not complete lacks its root. */
enum ebp_result {
	EBP_COMPLETE,		/* at the root; or there is no user stack */
	EBP_DEPTH,		/* deeper than the limit */
	EBP_UNREADABLE,		/* the stack could not be read */
	EBP_NO_PROCESS,		/* no tables of the process yet */
	EBP_NO_MAPPING,		/* an address in no executable mapping that we know */
	EBP_NO_TABLE,		/* the object's tables are not there (yet) */
	EBP_NO_CFI,		/* code without CFI, and its frame pointer led nowhere */
	EBP_UNSUPPORTED,	/* CFI that the step cannot follow */
	EBP_LOST_REGISTER,	/* the rule needs a register that is known in a leaf only */
	EBP_BAD_CFA,		/* the caller's frame would not be above this one */
	EBP_ZERO_RETURN,	/* a return address of 0 */
	/* a return address replaced by a uprobe that could not be found again */
	EBP_UPROBE,
	/* of a wait: the ring buffer was full, and its time counts without the stack */
	EBP_UNSENT,
	/* of a probe: its program was preempted, and what it works with was in use */
	EBP_BUSY,
	EBP_RESULTS,
};

/* Why a sample is in no count. */
enum ebp_loss {
	EBP_LOST_RING,		/* the ring buffer was full: its frames could not be sent */
	EBP_LOST_MAP,		/* the count map was full, and so was the ring buffer */
	EBP_LOST_PROBE,		/* it interrupted our own program on a uprobe */
	EBP_LOST_PACE,		/* hits for which no stack stood any more when it all ended */
	EBP_LOSSES,
};

/*
 * What a thread did. All between the first and the last are intervals of time, measured where they
 * end.
 */
enum ebp_kind {
	/* Counted at once. */
	EBP_ON_CPU,		/* samples: it ran */
	EBP_PAGE_FAULT,		/* page faults: it touched a page that was not there */
	/* Counted when they end, or by a record of their own (EBP_COUNTS_LATER). */
	EBP_BLOCKED,		/* waits: for an event */
	EBP_DISK_WAIT,		/* for I/O, and could not be interrupted */
	EBP_UNINTERRUPTIBLE,	/* for something else, and could not be interrupted */
	EBP_RUNNABLE,		/* for a CPU */
	EBP_RUNNING,		/* the time that it ran beside */
	EBP_ALLOCATED,		/* allocations: it allocated a block of memory */
	EBP_PROBED,		/* probes: an event of class @class was hit */
	/*
	 * samples whose CPU has meters; of class 0 the sample itself, of a higher one what meter
	 * @class - 1 counted for it
	 */
	EBP_METERED,
	EBP_KINDS,
};

/* Whose a count is. */
enum ebp_share {
	EBP_OWN,		/* of the stacks in the key */
	/* of all stacks of the key's class, in proportion; the key has no stacks */
	EBP_OF_CLASS,
	EBP_WAITED,	/* of a call whose time is counted: what it waited of that */
};

#define EBP_COUNTS_LATER(kind) ((kind) >= EBP_BLOCKED)

/* Key of the count maps: samples that are equal in all of it are one entry. */
struct ebp_key {
	__u64 user_id;		/* hash of the user frames and their process; 0: none */
	__u64 kernel_id;	/* hash of the kernel frames; 0: none */
	__u64 class; /* of intervals: hash of the place at which the thread left the CPU; of page
				   faults: bytes of the page, 0: not known; of probes: the place
				   that was hit (EBP_PROBE_PLACE) */
	/*
	 * of intervals: who ended it (struct ebp_waker); 0: not asked for, or not known. Of probes:
	 * the number by which hits are told apart; 0, too, where none is asked for
	 */
	__u64 waker;
	struct ebp_process process;
	__u32 tid;
	__u16 result;		/* enum ebp_result */
	__u8 kind;		/* enum ebp_kind */
	__u8 share;		/* enum ebp_share */
	char comm[EBP_COMM_LEN];/* of the thread */
};
_Static_assert(sizeof(struct ebp_key) == 72, "wire");

/* Value of the count maps. */
struct ebp_count {
	__u64 n;		/* samples, or intervals */
	__u64 ns;		/* how long intervals were together; the value of a meter */
};
_Static_assert(sizeof(struct ebp_count) == 16, "wire");

/* Records of the ring buffer; each begins with its type. */
enum ebp_record_type {
	EBP_STACK,	  /* struct ebp_stack: a user stack id's frames */
	EBP_KERNEL_STACK, /* struct ebp_stack: a kernel stack id's frames */
	EBP_PROCESS,	  /* struct ebp_sighting: a process not seen before */
	EBP_SAMPLE,	  /* struct ebp_sample: a sample that is in no count map */
	EBP_WAKER,	  /* struct ebp_waker: what a waker id means */
	EBP_DRAIN,	  /* struct ebp_head alone: the count map is half full */
	EBP_RESCUE,	  /* struct ebp_rescue (unwind.h): a sample for user space to unwind; of an
				   interval: the stack that its key's user_id means */
	EBP_ALLOCATION,	  /* struct ebp_allocation: a block of memory that was sampled */
	EBP_FREED,	  /* struct ebp_allocation_end: ... and its end */
	/* struct ebp_allocation_end: a process has ended, and its memory with it */
	EBP_GONE,
	EBP_CODE,	  /* struct ebp_code (lang.h): what an id of code means */
	/* struct ebp_stack: a stack whose frames of an interpreter a rescue refers to */
	EBP_LANG_STACK,
};

struct ebp_head {
	__u32 type;		/* enum ebp_record_type */
	__u32 n;		/* EBP_STACK, EBP_KERNEL_STACK: number of frames */
};

struct ebp_stack {
	struct ebp_head head;
	__u64 id;
	__u64 time;
	/* zero for kernel stacks, and where no frame is an address of the process */
	struct ebp_process process;
	__u32 result;		/* of a user stack: enum ebp_result */
	__u32 reserved;
	/* leaf first, return addresses less 1; user frames as in frame.h */
	__u64 frames[];
};
_Static_assert(sizeof(struct ebp_stack) == 48, "wire");

struct ebp_sighting {
	struct ebp_head head;
	__u64 time;
	struct ebp_process process;
};
_Static_assert(sizeof(struct ebp_sighting) == 32, "wire");

struct ebp_sample {
	struct ebp_head head;
	__u64 time;
	struct ebp_key key;
	struct ebp_count count;
	__u32 cpu;
	/* 1: it was then, or an interval began then; 0: counts that had no room in a map */
	__u32 timed;
};
_Static_assert(sizeof(struct ebp_sample) == 112, "wire");

struct ebp_waker {
	struct ebp_head head;
	__u64 id;
	struct ebp_key key;	/* its process, thread and stacks; tid 0: an interrupt */
};
_Static_assert(sizeof(struct ebp_waker) == 88, "wire");

/* A block of memory has an id, because its address is used again; ids are of their process. */
struct ebp_allocation {
	struct ebp_head head;
	__u64 time;
	__u64 id;
	__u64 size;		/* bytes that were asked for */
	struct ebp_key key;	/* who asked, and from where */
};
_Static_assert(sizeof(struct ebp_allocation) == 104, "wire");

struct ebp_allocation_end {
	struct ebp_head head;
	__u64 time;
	__u64 id;
	struct ebp_process process;
};
_Static_assert(sizeof(struct ebp_allocation_end) == 40, "wire");

/*
 * What a thread that may call functions with probes has done so far; listed by list_alloc_thread()
 * or list_probe_thread().
 */
struct ebp_sliced_thread {
	__u32 tid;
	__u32 reserved;
	__u64 start;		/* of the thread: CLOCK_BOOTTIME ns */
	__u64 cpu;		/* ns of CPU time, as of the last tick */
	/* of a leader: ns of CPU time of the threads of its process that have exited */
	__u64 exited;
	/*
	 * that were trapped; of an allocator: of what gives blocks, of realloc() where the ends of
	 * blocks are not seen
	 */
	__u64 calls;
	/* ns that our programs on these took, stacks included; of probes with the traps */
	__u64 spent;
};
_Static_assert(sizeof(struct ebp_sliced_thread) == 48, "wire");

/* One a CPU; what a sample was counted as. taken = kept + the sum of lost. */
struct ebp_counters {
	__u64 taken;
	__u64 kept;
	__u64 lost[EBP_LOSSES];
	__u64 sent;		/* of kept: for user space to unwind (EBP_RESCUE) */
	/* samples whose unwinding met EBP_NO_PROCESS, _NO_MAPPING or _NO_TABLE */
	__u64 untabled;
	__u64 frames;		/* user frames taken in the kernel */
	__u64 fp_frames;	/* of these: left by the frame pointer, for lack of CFI */
	/* Of intervals: */
	__u64 switches;		/* times that a wanted thread left the CPU */
	/* of these: with stacks taken; of probes where that is bounded */
	__u64 captured;
	__u64 brief;		/* intervals below the least that counts, */
	__u64 brief_ns;		/* and how long they were together */
	__u64 ends_lost;	/* ends of blocks that could not be sent */
	/* Of on_any_call(): */
	/* traps at the entry of free(), of realloc(), of all others */
	__u64 alloc_ends, alloc_resizes, alloc_calls;
	/*
	 * of probes in slices: their traps, and ns that these took with our programs; ns of CPU
	 * time of threads that have exited
	 */
	__u64 traps, traps_ns, exited_ns;
};
_Static_assert(sizeof(struct ebp_counters) == 168, "wire");

/*
 * On what a uprobe is; by it goes where the arguments are. The cookie of a place of on_any_call().
 */
enum alloc_probe_kind {
	PROBE_BLOCK, PROBE_BLOCK_END,	/* of our preloaded library (src/preload/alloc.c) */
	PROBE_MALLOC, PROBE_CALLOC, PROBE_REALLOC, PROBE_MEMALIGN, PROBE_POSIX_MEMALIGN, PROBE_FREE,
	PROBE_RETURNED,			/* from any of these but the last */
	PROBE_KINDS,
};

/* A place of a probe, and which of the events it belongs to: the cookie of what is set there. */
#define EBP_PROBE_EVENTS 64
#define EBP_PROBE_PLACE(event, place) ((__u64)(place) << 8 | (event))
#define EBP_PROBE_EVENT(class) ((__u32)(class) & 0xff)
#define EBP_PROBE_INDEX(class) ((__u32)((class) >> 8))
/*
 * Where probes are set in slices of the time the upper bits have, in a cookie, what a trap there
 * takes, ns; in a key, the window in which it counted, of which the lower bits are kept.
 */
#define EBP_PROBE_PRICE_SHIFT 48
#define EBP_PROBE_PRICE_MAX 0xffffu
#define EBP_PROBE_SLICED (1ull << 63)
#define EBP_PROBE_WINDOWS 0x7fffu
#define EBP_PROBE_WINDOW(n) (EBP_PROBE_SLICED | (__u64)((n) & EBP_PROBE_WINDOWS) << 48)
#define EBP_PROBE_WINDOW_OF(class) ((__u32)((class) >> 48) & EBP_PROBE_WINDOWS)
#define EBP_PROBE_CLASS(x) ((x) & ((1ull << 48) - 1))

/* What calls a probe's program; where there are no cookies, one event of each can be told. */
enum ebp_probe_kind {
	EBP_PROBE_USER, EBP_PROBE_USER_RETURN, EBP_PROBE_KERNEL, EBP_PROBE_TRACEPOINT,
	EBP_PROBE_COUNTER,
	/* a function whose calls are timed; its return is the event behind */
	EBP_PROBE_LATENCY_ENTRY, EBP_PROBE_LATENCY_RETURN,
	/* two probes between which the time is measured; the second is the event behind */
	EBP_PROBE_START_USER, EBP_PROBE_START_KERNEL, EBP_PROBE_START_TRACEPOINT,
	EBP_PROBE_END_USER, EBP_PROBE_END_RETURN, EBP_PROBE_END_KERNEL, EBP_PROBE_END_TRACEPOINT,
	EBP_PROBE_KINDS,
};

/* Times of calls are counted by the powers of two of their ns, each in so many equal parts. */
#define EBP_LATENCY_BITS 2
#define EBP_LATENCY_PARTS (1 << EBP_LATENCY_BITS)

/* Of an event on a CPU: the times that no sample stands for yet. */
struct ebp_latency_sum {
	__u64 n;
	__u64 running, waiting;	/* ns */
};

/* Values of the `targets` map (key: a process or thread id). */
enum ebp_target {
	EBP_TARGET = 1,
	EBP_TARGET_AT_EXEC,	/* from its next exec on: the command we started */
};

#endif
