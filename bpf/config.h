/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space sets before it loads the programs. The verifier sees constants here, so a feature
 * that is off costs no instruction. Each source has a structure of its own.
 */
#ifndef EBPROF_CONFIG_H
#define EBPROF_CONFIG_H

#include "bpf/ebprof.h"

/* Which tasks are measured. Each filter is off at 0. */
struct ebp_filter_config {
	__u64 cgroup;		/* kernfs id; descendants are included */
	__s32 cgroup_subsys;	/* cgroup v1: which hierarchy; -1: v2 */
	__u32 self[EBP_SELF_MAX];	/* processes of our own, left out; 0: none */
	__u8 by_process, by_thread;	/* by the `targets` map */
	__u8 inherit;		/* what the targets fork is a target, too */
	__u8 by_comm;		/* the process's name is @comm */
	char comm[EBP_COMM_LEN];
	__u8 idle;		/* 1: the idle task is sampled, too */
	/* tracepoints only, because perf events are opened per CPU: a bit for each CPU */
	__u8 by_cpu;
	__u64 cpus[EBP_CPUS_MAX / 64];
};

struct ebp_samples_config {
	/* 1: the event is a clock's, and what the kernel skips of it is looked for */
	__u8 clock;
	__u64 period;		/* tracepoints only: every n-th hit */
};

/*
 * Kernel code, from its beginning to its end: the scheduler's, where interrupts come in,
 * try_to_wake_up(); 0: not known.
 */
struct ebp_kernel_text {
	__u64 sched[2], irq[2], wake[2];
};

struct ebp_waits_config {
	__u64 min_block;	/* ns; shorter intervals are counted by number alone */
	__u64 overhead;		/* share of a CPU that taking stacks may cost, of 2^32 */
	__u8 wall;		/* time on the CPU is measured, too */
	__u8 wakers;		/* who ended a wait is recorded */
	__u8 switch_state;	/* sched_switch has the state of who leaves (5.18) */
	__u8 states;		/* a bit for each enum ebp_kind that is wanted */
};

struct ebp_alloc_config {
	__u64 interval;		/* bytes a sample; 0: every block is one */
	__u8 on;		/* the end of processes is reported */
};

struct ebp_probes_config {
	__u64 period;		/* every n-th hit of an event on a CPU */
	__u64 overhead;		/* share of a CPU that taking stacks may cost, of 2^32; 0: any */
	__u64 only[EBP_PROBE_KINDS];	/* without cookies: the place of each kind */
	__u64 slower;		/* ns; of calls that took less only the number is kept */
	__u8 cookies;		/* a program can ask which place was hit (5.15) */
	__u8 records;		/* some have a filter, or a value */
	__u8 on;		/* there are some */
	__u8 sliced;		/* uprobes are there for slices of the time */
};

struct ebp_meters_config {
	__u32 n;		/* at most EBP_METERS_MAX */
	__u32 cpus;		/* possible ones: meter i of a CPU is at i * cpus + CPU */
};

struct ebp_config {
	__u64 seed;		/* of all hashes, so nobody can make two stacks collide */
	__u32 frames;		/* at most EBP_FRAMES_MAX and kernel.perf_event_max_stack */
	__u32 user_frames;	/* at most EBP_FRAMES_MAX */
	__u32 ring_wake;	/* bytes waiting in the ring buffer that wake its reader */
	__u32 map_wake;		/* entries of the count map that wake its reader */
	__u32 seen_stacks, seen_processes;	/* slots of those caches, powers of two */
	__u8 user, kernel;	/* stacks that are taken */
	__u8 rescue;		/* what cannot be unwound in the kernel is sent to user space */
	__u8 timeline;		/* each sample by itself, with its time, as long as there is room */
	__u8 await;		/* tasks that await the one that runs have their frames below it */
	__u8 native;		/* the machine code of a language's machine frames is kept, too */
	__u8 succeeded;		/* programs may be succeeded by others (capture.bpf.h) */
	struct ebp_filter_config filter;
	struct ebp_samples_config samples;
	struct ebp_waits_config waits;
	struct ebp_alloc_config alloc;
	struct ebp_probes_config probes;
	struct ebp_meters_config meters;
};

/*
 * What programs that succeed one another differ in (src/collect/successor.h), apart from the rest,
 * which they share.
 */
struct ebp_turn {
	__u32 number;		/* they act while user space has this in `acting` */
	__u32 languages;	/* whose frames they take: a bit for each enum ebp_language */
};

#define EBP_LANGUAGES_ALL (~0u)

/* Slots of the programs on uprobes that others succeed by a tail call (bpf/succeeded.bpf.h). */
enum ebp_uprobe_successor {
	EBP_SUCCEEDS_BLOCK,
	EBP_SUCCEEDS_ANY_CALL,
	EBP_SUCCEEDS_MALLOC,
	EBP_SUCCEEDS_CALLOC,
	EBP_SUCCEEDS_REALLOC,
	EBP_SUCCEEDS_MEMALIGN,
	EBP_SUCCEEDS_POSIX_MEMALIGN,
	EBP_SUCCEEDS_USER_PROBE,
	EBP_SUCCEEDS_USER_RETURN,
	EBP_UPROBE_SUCCESSORS
};

#endif
