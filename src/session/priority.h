/* SPDX-License-Identifier: MIT */
/* Who of us runs first. */
#ifndef EBPROF_PRIORITY_H
#define EBPROF_PRIORITY_H

#include <sys/types.h>

/*
 * The calling thread runs before all of usual priority, where it may; or as they do. What it starts
 * is not favoured.
 */
void priority_first(int first);

enum priority { PRIORITY_IDLE, PRIORITY_USUAL, PRIORITY_OURS };

/*
 * Thread @tid of ours runs only where a CPU has nothing else to do; as all programs do; or as the
 * calling thread does while it is not the first. Where we may not take it back, PRIORITY_IDLE is
 * PRIORITY_USUAL.
 */
void priority_set(pid_t tid, enum priority priority);

#endif
