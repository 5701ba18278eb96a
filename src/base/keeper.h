/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that keeps the right to make, name and remove files, while
 * the one that reads foreign files gives it up (base/sandbox.h). It knows
 * beforehand all that it will be asked to do: a request is the number of a job
 * and bytes to do it with, and never a path.
 *
 * Fork it before there are threads. It gets no signals, and ends with its owner, however that ends.
 */
#ifndef EBPROF_KEEPER_H
#define EBPROF_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

struct keeper_job {
	/*
	 * All run in the keeper, on its copy of @ctx, and may be NULL: at the start, for a request,
	 * and at the end.
	 */
	void (*begin)(void *ctx);
	/* with what was sent, which is hostile */
	int (*work)(void *ctx, const void *bytes, size_t size);
	void (*end)(void *ctx);
	void *ctx;
};

struct keeper;

/* Forks. @jobs is copied. NULL with errno. */
struct keeper *keeper_new(const struct keeper_job *jobs, size_t n);
/* What the job returned (0 or a negative errno); -ECHILD where the keeper is gone. */
int keeper_do(struct keeper *k, size_t job, const void *bytes, size_t size);
pid_t keeper_pid(const struct keeper *k);
/* Waits until its jobs have ended. Takes NULL. */
void keeper_free(struct keeper *k);

#endif
