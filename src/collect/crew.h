/* SPDX-License-Identifier: MIT */
/*
 * Some threads that work off what takes the kernel long, but no CPU time: the end of a link waits
 * for a grace period, and many can wait for the same one.
 */
#ifndef EBPROF_CREW_H
#define EBPROF_CREW_H

#include <stddef.h>

struct crew;

/* NULL with errno. */
struct crew *crew_new(void);
/* Returns when all is done. */
void crew_free(struct crew *c);
/* Has @work done, in any order. */
void crew_give(struct crew *c, void (*work)(void *ctx, size_t number), void *ctx, size_t number);
/* Until all that was given is done. */
void crew_wait(struct crew *c);

#endif
