/* SPDX-License-Identifier: MIT */
/*
 * What the sandbox refuses is counted by somebody else.
 *
 * The kernel asks who holds the filter's listener (seccomp_unotify(2)), which is the process that
 * keeps the right to write (base/keeper.h): the holder could as well let a call pass, so it must
 * not be the process that the filter is for. It answers as an old kernel would, with ENOSYS; so
 * does the kernel where nobody holds it any more. A signal (SECCOMP_RET_TRAP) would need no other
 * process, but kills a thread that has it blocked, as the C library now and then has.
 */
#ifndef EBPROF_REFUSALS_H
#define EBPROF_REFUSALS_H

#include <stddef.h>
#include <stdint.h>

struct refusals;

/* Before the process that counts is forked. NULL with errno. */
struct refusals *refusals_new(void);
/* Takes NULL. */
void refusals_free(struct refusals *r);

/*
 * In the process that counts: from here on it does, beside what else it does. @refusals is a struct
 * refusals.
 */
void refusals_watch(void *refusals);
/* In the other one: gives the listener away for good. Calls sendmsg(2) on refusals_socket(). */
void refusals_hand_over(struct refusals *r, int listener);
/* -1 where it was handed over. */
int refusals_socket(const struct refusals *r);

/* "ioctl (3 times), openat (once)", as of now; "" where nothing was refused. */
void refusals_text(const struct refusals *r, char *text, size_t size);

#endif
