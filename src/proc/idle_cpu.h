/* SPDX-License-Identifier: MIT */
/*
 * Whether a CPU has nothing to do, for work that can wait. SCHED_IDLE alone does not keep such work
 * from programs: the kernel takes a CPU that runs it for a busy one when it balances
 * (kernel/sched/fair.c: update_sg_wakeup_stats() and update_sg_lb_stats() count what idle_cpu()
 * says), so two programs may share the other CPU for tens of milliseconds; and it counts within a
 * group alone, where sessions or services are groups of the scheduler.
 */
#ifndef EBPROF_IDLE_CPU_H
#define EBPROF_IDLE_CPU_H

#include <stdint.h>

struct idle_cpu {
	int load, uptime;	/* /proc/loadavg, /proc/uptime; below 0: cannot be had */
	long online;		/* CPUs */
	uint64_t since;		/* CLOCK_MONOTONIC, ns: the look before; by then */
	uint64_t idle, own;	/* ns: how long CPUs had been idle, and the caller had run */
	int was_left;		/* that is what it saw */
};

/* @proc: a folder like /proc. */
void idle_cpu_open(struct idle_cpu *c, const char *proc);
void idle_cpu_close(struct idle_cpu *c);

/*
 * 1 where a CPU has been idle, or busy with the calling thread, for more than half of the time
 * since an earlier look, at least 50 ms ago, and now no more threads run or wait for a CPU, the
 * caller among them, than there are CPUs; or where nothing tells. proc_uptime(5), the second field,
 * and proc_loadavg(5), the fourth. The first look gives 0. Some 10 us.
 */
int idle_cpu_left(struct idle_cpu *c);

#endif
