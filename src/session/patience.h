/* SPDX-License-Identifier: MIT */
/*
 * Processes whose stacks lead nowhere, which nobody knows before they have been tried: after some
 * in a row they are to rest for a second, and each time that they have led nowhere again twice as
 * long. What ends so in the first moments of a program, or where it does something special, may
 * not in the next.
 */
#ifndef EBPROF_PATIENCE_H
#define EBPROF_PATIENCE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/vec.h"

/* All zeros: nothing was tried. Times are ns of one clock. */
struct patience {
	struct hashmap tried;	/* pid -> what it has done so far */
	VEC(struct resting { uint64_t until; pid_t pid; }) resting;
};

/* A stack of @pid led nowhere at @now. 1 where it is to rest, said once. */
int patience_failed(struct patience *p, pid_t pid, uint64_t now);
/* One led to its root. */
void patience_succeeded(struct patience *p, pid_t pid);
/* One that has rested, said once; 0: there is none. */
pid_t patience_rested(struct patience *p, uint64_t now);
/* @pid has exited. */
void patience_forget(struct patience *p, pid_t pid);
void patience_free(struct patience *p);

#endif
