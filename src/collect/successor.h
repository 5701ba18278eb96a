/* SPDX-License-Identifier: MIT */
/*
 * Programs with frames of languages that succeed such without them while a recording goes on. They
 * take more than all else of a start, and most recordings of chosen processes meet no language.
 */
#ifndef EBPROF_SUCCESSOR_H
#define EBPROF_SUCCESSOR_H

#include <stddef.h>
#include <sys/types.h>

struct collector_options;
struct ebprof_bpf;	/* ebprof.skel.h */
struct successor;

/* Whether the programs of all parts of @o can be succeeded; @skel is open. */
int successor_is_possible(const struct collector_options *o, struct ebprof_bpf *skel);
/*
 * @skel is loaded without them: forks the process that can load them, on the same maps. Both are
 * borrowed. NULL with errno.
 */
struct successor *successor_new(const struct collector_options *o, struct ebprof_bpf *skel);
void successor_free(struct successor *s);

/* All of these may be called with NULL. They are wanted, and will be there some 100 ms later. */
void successor_want(struct successor *s);
/* Waits until they are loaded, if they are wanted, but not longer than @ms. */
void successor_wait(struct successor *s, int ms);
/*
 * While the parts count: attaches them when they are loaded: 1, once; 0: not yet; a negative errno,
 * once: there will be none.
 */
int successor_follow(struct successor *s);
/* Readable when there is something to follow; -1: there is nothing to come. */
int successor_fd(const struct successor *s);
/* The process; 0: there is none. */
pid_t successor_pid(const struct successor *s);
/* The socket on which successor_follow() calls recvmsg(2); 0: there is none. */
int successor_socket(const struct successor *s);

#endif
