/* SPDX-License-Identifier: MIT */
/*
 * Names whose demangling may take for ever, by a process of ours that may be lost.
 *
 * Only its own CPU time shows that a name is hostile (symbols/demangle_cxx.h), and a clock of that
 * ends what it bounds by a signal. In a process with threads a signal's handler is everybody's, and
 * timers are not among the system calls of a recording (base/sandbox.h). Here the signal leaves the
 * name that is under way, and so does one for a stack that is used up. The process has no
 * capabilities, no descriptors, and the system calls of the sandbox, so it is worth little to
 * somebody who has code run in it.
 *
 * Fork it before there are threads. It gets no other signals, and ends with its owner, however that
 * ends.
 */
#ifndef EBPROF_DEMANGLER_H
#define EBPROF_DEMANGLER_H

#include <stddef.h>
#include <sys/types.h>

#define DEMANGLER_NAME	8192	/* bytes of a name, with its terminator */
#define DEMANGLER_TEXT	16384	/* of what it is made of, the same */

struct demangler;

/* Forks. NULL with errno. */
struct demangler *demangler_new(void);
/* Waits for the process, unless it is lost. Takes NULL. */
void demangler_free(struct demangler *d);
pid_t demangler_pid(const struct demangler *d);

/*
 * As demangle_cxx(), for any name. 0 also where @d is NULL, where the name is too long or takes
 * more than some ms of CPU time, and where earlier names used up what all of them have. Threads
 * take turns.
 */
size_t demangler_ask(struct demangler *d, const char *name, char *dst, size_t size);
/* 1 where a name was not demangled that would be in another run. */
int demangler_gave_up(struct demangler *d);

#endif
