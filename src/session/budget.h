/* SPDX-License-Identifier: MIT */
/*
 * What costs much of our time for one process, which decides how much, has a share of it: a fifth,
 * once a quarter of a second has been taken. What costs little is not counted.
 */
#ifndef EBPROF_BUDGET_H
#define EBPROF_BUDGET_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"

/* All zeros: nothing was taken yet. Times are ns. */
struct budget {
	/* pid -> when as much time as it has to leave to others will have passed */
	struct hashmap until;
	uint64_t origin;	/* of the times there */
};

/* Whether @pid may take some of our time at @now. */
int budget_has(const struct budget *b, pid_t pid, uint64_t now);
/* It has taken it. */
void budget_took(struct budget *b, pid_t pid, uint64_t begin, uint64_t end);
void budget_forget(struct budget *b, pid_t pid);
void budget_free(struct budget *b);

#endif
