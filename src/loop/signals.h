/* SPDX-License-Identifier: MIT */
/*
 * Signals that ask for the end, taken by a thread of their own: the first is for who samples, when
 * it comes to it. The second ends the program, also where it never does.
 */
#ifndef EBPROF_SIGNALS_H
#define EBPROF_SIGNALS_H

#include <signal.h>

/*
 * @set is blocked from now on. A descriptor that does not block, from which each is read as a
 * struct signalfd_siginfo, or a negative errno. SIGCHLD asks for nothing. Call it once.
 */
int signals_watch(const sigset_t *set);

#endif
