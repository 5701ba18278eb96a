/* SPDX-License-Identifier: MIT */
/*
 * Closes descriptors in a thread: the kernel waits for a grace period at the end of a link, which is too long where samples
 * come meanwhile.
 */
#ifndef EBPROF_CLOSER_H
#define EBPROF_CLOSER_H

struct closer;

/* NULL with errno. */
struct closer *closer_new(void);
/* Returns when all are closed. */
void closer_free(struct closer *c);
/* @fd is the closer's from now on. */
void closer_close(struct closer *c, int fd);

#endif
