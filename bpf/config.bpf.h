/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What user space fixes before loading. The verifier sees constants here, so
 * what is switched off costs no instruction.
 */
#ifndef EBPROF_CONFIG_BPF_H
#define EBPROF_CONFIG_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/ebprof.h"

/* Of the stack hash: a process that picks its addresses cannot make two stacks collide. */
const volatile __u64 cfg_seed = 1;
/* at most EBP_FRAMES_MAX and kernel.perf_event_max_stack */
const volatile __u32 cfg_frames = 127;
const volatile __u32 cfg_user_frames = EBP_FRAMES_MAX;
const volatile __u8 cfg_rescue = 1;		/* send what cannot be unwound here */
const volatile __u8 cfg_inherit = 1;		/* what the targets fork is a target, too */
const volatile __u8 cfg_user = 1, cfg_kernel = 1;
const volatile __u8 cfg_timeline;		/* each sample by itself, with its time */
/* the event is a clock's: what the kernel skips is looked for */
const volatile __u8 cfg_clock;
/* bytes waiting in the ring buffer that wake its reader */
const volatile __u32 cfg_ring_wake;
const volatile __u32 cfg_map_wake;		/* entries of the count map that wake its reader */
/* slots of those caches, powers of two */
const volatile __u32 cfg_seen_stacks = 1, cfg_seen_processes = 1;

/* Off-CPU (offcpu.bpf.h). */
const volatile __u8 cfg_wall;			/* time on the CPU is measured, too */
const volatile __u8 cfg_wakers;			/* who ended a wait is told */
/* sched_switch tells the state of who leaves (5.18) */
const volatile __u8 cfg_switch_state;
const volatile __u8 cfg_states = 0xff;		/* a bit for each enum ebp_kind that is wanted */
/*
 * Kernel code, from its beginning to its end: the scheduler's, where interrupts come in,
 * try_to_wake_up(); 0: not known.
 */
const volatile __u64 cfg_sched_text[2], cfg_irq_text[2], cfg_wake_text[2];
/* ns; shorter intervals are counted by number alone */
const volatile __u64 cfg_min_block;
/* share of a CPU that taking stacks may cost, of 2^32 */
const volatile __u64 cfg_overhead = 1ull << 32;

/* Allocations (alloc.bpf.h, alloc_any.bpf.h). */
/* bytes a sample; 0: every block is one (alloc_any.bpf.h) */
const volatile __u64 cfg_alloc_interval;
const volatile __u8 cfg_alloc;			/* the end of processes is told */

/* Filters: each is off at 0. */
const volatile __u8 cfg_by_process, cfg_by_thread;	/* by the `targets` map */
const volatile __u8 cfg_by_comm;
const volatile char cfg_comm[EBP_COMM_LEN];
const volatile __u64 cfg_cgroup;		/* kernfs id; descendants are included */
const volatile __s32 cfg_cgroup_subsys = -1;	/* cgroup v1: which hierarchy; -1: v2 */
const volatile __u32 cfg_self[EBP_SELF_MAX];	/* processes of our own, left out; 0: none */
const volatile __u8 cfg_idle;			/* 1: the idle task is sampled too */
/* tracepoints only: perf events are opened per CPU */
const volatile __u8 cfg_by_cpu;
const volatile __u64 cfg_cpus[EBP_CPUS_MAX / 64];
const volatile __u64 cfg_period = 1;		/* tracepoints only: every n-th hit */

#endif
