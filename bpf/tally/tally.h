/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `ebprof stat` and its programs say to each other. They are an object of their own
 * (tally.bpf.c), which samples nothing.
 */
#ifndef EBPROF_TALLY_WIRE_H
#define EBPROF_TALLY_WIRE_H

#ifdef __bpf__
#include "vmlinux.h"
#else
#include <linux/types.h>
#endif

#define TALLY_EVENTS 16		/* that are counted at once */

/* By what counts are told apart. */
enum tally_by { TALLY_BY_NOTHING, TALLY_BY_THREAD, TALLY_BY_PROCESS, TALLY_BY_CPU,
		TALLY_BY_CGROUP };

struct tally_key {
	__u64 id;	/* tgid << 32 | tid; tgid << 32; a CPU; a cgroup's kernfs id */
	__u64 start;	/* of the thread, or of the process's leader: CLOCK_BOOTTIME ns; else 0 */
};
_Static_assert(sizeof(struct tally_key) == 16, "wire");

/* As the kernel reads an event (struct bpf_perf_event_value). */
struct tally_count {
	__u64 value, enabled, running;	/* times in ns */
};

struct tally_entry {
	char comm[16];	/* of the thread, or of the process's leader */
	struct tally_count counts[TALLY_EVENTS];
};
_Static_assert(sizeof(struct tally_entry) == 16 + 24 * TALLY_EVENTS, "wire");

/* Values of `tally_targets` (key: a thread's id). */
enum tally_target {
	TALLY_TARGET = 1,
	TALLY_TARGET_AT_EXEC,	/* from its next exec on: the command we started */
};

/* Set before the programs are loaded. */
struct tally_config {
	__u64 cgroup;		/* kernfs id: only tasks in it, or below it; 0: all */
	__s32 subsys;		/* of its hierarchy, and of TALLY_BY_CGROUP's: cgroup.bpf.h */
	__u32 by;		/* enum tally_by */
	__u32 events;		/* at most TALLY_EVENTS */
	__u32 cpus;		/* possible ones; event i of a CPU is at i * cpus + CPU */
	__u8 targets;		/* only threads of that map, and what they start */
};

#endif
