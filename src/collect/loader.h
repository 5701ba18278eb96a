/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that may still load BPF programs when the one that reads foreign files may not
 * any more (base/sandbox.h). What it can load is fixed before it is forked: a question says when,
 * and for which languages, of which each question has more. It answers with the programs'
 * descriptors. Any other question ends it.
 *
 * Fork it when all other descriptors that it needs are there. It gets no signals, and ends with its
 * owner, however that ends.
 */
#ifndef EBPROF_LOADER_H
#define EBPROF_LOADER_H

#include <stddef.h>
#include <sys/types.h>

#include "bpf/config.h"

#define LOADER_PROGRAMS 8	/* at most */

struct loader;

/*
 * Runs in that process, on its copy of @ctx: how many programs are in @fds, which are the caller's,
 * or a negative errno.
 */
typedef int loader_fn(void *ctx, const struct ebp_turn *turn, int fds[LOADER_PROGRAMS]);

/* Forks; the process keeps no descriptors but the @n in @keep. NULL with errno. */
struct loader *loader_new(loader_fn *load, void *ctx, const int *keep, size_t n);
void loader_free(struct loader *l);
pid_t loader_pid(const struct loader *l);

/* Does nothing while it is under way, or where it could not load the last ones. */
void loader_ask(struct loader *l, const struct ebp_turn *turn);
/* Whether it has been asked, and its answer was not taken. */
int loader_is_under_way(const struct loader *l);
/* The socket that is readable when it has answered, on which loader_take() calls recvmsg(2). */
int loader_fd(const struct loader *l);
/*
 * How many programs are in @fds, which are the caller's now; 0: there is no answer yet, or it was
 * taken; negative, once: they could not be loaded. Does not wait.
 */
int loader_take(struct loader *l, int fds[LOADER_PROGRAMS]);

#endif
