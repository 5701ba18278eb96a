/* SPDX-License-Identifier: MIT */
/* One run of a command, from its exec to its end, with what it took. */
#ifndef EBPROF_RUN_H
#define EBPROF_RUN_H

#include <stdint.h>

#include "base/error.h"
#include "loop/loop.h"
#include "stat/counters.h"

struct run {
	uint64_t elapsed, user, system;	/* ns; CPU times with what it waited for */
	uint64_t peak;			/* bytes of memory of the process that had most */
	int status;			/* as a shell tells it */
};

/* Called at each end of an @interval while something is counted. */
struct run_ticks {
	uint64_t interval;		/* ns; 0: none */
	void (*tick)(void *ctx, uint64_t elapsed);
	void *ctx;
};

/*
 * Runs @argv to its end; what asks us for the end is for it (loop.h: @l->asked tells). @c has no
 * open events, and has what was counted afterwards. @hidden: what it prints is thrown away. 0, or a
 * negative errno with @e filled.
 */
int run_command(struct run *r, char **argv, int hidden, struct counters *c, struct loop *l,
		const struct run_ticks *t, struct error *e);

/*
 * Counts what runs already: until it is asked to end, @pid has ended (0: none) or @duration is over
 * (ns; 0: none). Returns the time that it took, ns.
 */
uint64_t run_beside(struct counters *c, pid_t pid, uint64_t duration, struct loop *l,
		    const struct run_ticks *t);

#endif
