/* SPDX-License-Identifier: MIT */
/*
 * The CPU time of threads, exactly: by a perf event each.
 *
 * What the kernel keeps of a thread itself is brought up to date by its ticks, so it is up to 10 ms
 * old while the thread runs; and /proc shows it on some kernels only. An event costs the thread
 * some 0.3 us each time it is switched.
 */
#ifndef EBPROF_SLICES_THREAD_CLOCKS_H
#define EBPROF_SLICES_THREAD_CLOCKS_H

#include <stdint.h>
#include <sys/types.h>

/* A descriptor for thread_clock_read(), which gives ns since it was opened; or a negative errno. */
int thread_clock_open(pid_t tid);
/* 0 or a negative errno. */
int thread_clock_read(int fd, uint64_t *ns);

struct thread_clocks;

struct thread_clocks *thread_clocks_new(void);
void thread_clocks_free(struct thread_clocks *c);
/*
 * The CPU time of thread @tid that began at @start (any unit), which is about @cpu as the kernel
 * keeps it. A thread has an event from the first question on, as far as there are few; where it
 * @matters, of more. Without one it is @cpu.
 */
uint64_t thread_clocks_get(struct thread_clocks *c, pid_t tid, uint64_t start, uint64_t cpu,
			   int matters);
/* All threads that there are were asked for: the events of others are closed. */
void thread_clocks_sweep(struct thread_clocks *c);

#endif
