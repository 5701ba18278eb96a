/* SPDX-License-Identifier: MIT */
/*
 * Grace periods: waiting, in a thread of its own, until every BPF program that
 * runs now has ended.
 *
 * An update of a map of maps returns after that (maybe_wait_bpf_programs(), 5.0),
 * some 10 ms later; whoever follows processes must not sleep so long.
 */
#ifndef EBPROF_GRACE_H
#define EBPROF_GRACE_H

struct grace;

/* @outer: a map of maps, @inner: a map to put into its first place; borrowed. NULL with errno. */
struct grace *grace_new(int outer, int inner);
void grace_free(struct grace *g);

/* Begins to wait; not while one is under way. */
void grace_begin(struct grace *g);
/* Readable when it is over, until grace_end(). */
int grace_fd(const struct grace *g);
/*
 * 1 where it is over, and then it is no more; -1 where it failed; 0: not yet. With @wait it is
 * waited for.
 */
int grace_end(struct grace *g, int wait);

#endif
