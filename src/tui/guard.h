/* SPDX-License-Identifier: MIT */
/*
 * Gives the terminal back where we cannot do it ourselves any more: a process that sleeps until
 * we end, however that comes about (a crash, SIGKILL), and does nothing where we did it.
 */
#ifndef EBPROF_GUARD_H
#define EBPROF_GUARD_H

struct guard;

/*
 * Keeps how the terminal is now. Before there are other threads. NULL where it could not be
 * started: then there is none.
 */
struct guard *guard_new(void);
/* The terminal is as it was: the process ends. Takes NULL. */
void guard_free(struct guard *g);

#endif
