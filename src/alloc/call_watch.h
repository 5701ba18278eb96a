/* SPDX-License-Identifier: MIT */
/*
 * How often threads call functions that will have probes, or come to events of the kernel: counted
 * for a moment, by the cheapest program there is, beside the CPU time of each thread.
 */
#ifndef EBPROF_CALL_WATCH_H
#define EBPROF_CALL_WATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "alloc/alloc_counter.h"
#include "alloc/alloc_load.h"
#include "alloc/alloc_probes.h"

struct call_place {
	int file;			/* borrowed */
	pid_t pid;			/* of a process; 0: in all that have mapped the file */
	uint64_t offset, semaphore;	/* in the file; 0: no semaphore */
	unsigned int slot;		/* enum alloc_slot */
};

/*
 * Looks at @places, of which those of one file and process stand in a row, for @ns; longer where no
 * call is seen of threads that wait for a CPU. The CPU time of the threads of @pids is measured
 * from the start, that of others once they have made a call. 0 or a negative errno.
 */
int call_watch(const struct alloc_price *p, const struct call_place *places, size_t n,
	       const pid_t *pids, size_t npids, uint64_t ns, struct alloc_load *load);
/*
 * The same of hits of @events, descriptors of kprobes or of tracepoints, as @kind says; of @pids
 * alone, where there are any: others are not sampled.
 */
int call_watch_events(const struct alloc_price *p, enum alloc_counter_kind kind, const int *events,
		      size_t n, const pid_t *pids, size_t npids, uint64_t ns,
		      struct alloc_load *load);
/* The same of all places of @probes. */
int call_watch_allocator(const struct alloc_price *p, const struct alloc_probes *probes,
			 uint64_t ns, struct alloc_load *load);

#endif
