/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that may still load BPF programs when the one that reads foreign files may not
 * any more (base/sandbox.h). What it will load is fixed before it is forked: a byte says when, of
 * whatever value. It answers with the programs' descriptors and ends; so nothing else can be asked
 * of it, and nothing twice.
 *
 * Fork it when all other descriptors that it needs are there. It gets no signals, and ends with its
 * owner, however that ends.
 */
#ifndef EBPROF_LOADER_H
#define EBPROF_LOADER_H

#include <stddef.h>
#include <sys/types.h>

#define LOADER_PROGRAMS 8	/* at most */

struct loader;

/* Runs in that process, on its copy of @ctx: how many programs are in @fds, or a negative errno. */
typedef int loader_fn(void *ctx, int fds[LOADER_PROGRAMS]);

/* Forks; the process keeps no descriptors but the @n in @keep. NULL with errno. */
struct loader *loader_new(loader_fn *load, void *ctx, const int *keep, size_t n);
void loader_free(struct loader *l);
pid_t loader_pid(const struct loader *l);

/* Does nothing where it has been asked before. */
void loader_ask(struct loader *l);
/* Whether it has been asked, and its answer was not taken. */
int loader_is_under_way(const struct loader *l);
/* The socket that is readable when it has answered, on which loader_take() calls recvmsg(2). */
int loader_fd(const struct loader *l);
/*
 * How many programs are in @fds, which are the caller's now; 0: there is no answer yet, or it was
 * taken; negative: they could not be loaded. Does not wait.
 */
int loader_take(struct loader *l, int fds[LOADER_PROGRAMS]);

#endif
