/* SPDX-License-Identifier: MIT */
/*
 * What happens to processes while we sample: fork, exec, mmap, rename, exit.
 *
 * One dummy perf event a CPU carries perf's side band (perf_event_open(2),
 * PERF_RECORD_MMAP2 and its kin), with build ids from Linux 5.12 on. The CPUs'
 * buffers are merged into one order of time. Not thread safe.
 */
#ifndef EBPROF_SIDEBAND_H
#define EBPROF_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum sideband_type {
	SIDEBAND_FORK, SIDEBAND_EXEC, SIDEBAND_COMM, SIDEBAND_MMAP, SIDEBAND_EXIT,
	SIDEBAND_THREAD,	/* one of a process that has others began, was renamed, or ended */
};

struct sideband_event {
	enum sideband_type type;
	pid_t pid;		/* the process */
	pid_t parent;		/* FORK */
	uint64_t time;		/* CLOCK_MONOTONIC ns */
	const char *text;	/* COMM, EXEC: comm; MMAP: path; raw, valid during the call */
	/* MMAP: */
	uint64_t start, end, offset;
	uint32_t dev_major, dev_minor;
	uint64_t inode;
};

struct sideband;

/*
 * Opens on all online CPUs. @patient: it is read now and then without being asked to, several times
 * a second, so its descriptor is readable only where much waits. NULL with @e filled.
 */
struct sideband *sideband_new(int patient, struct error *e);
void sideband_free(struct sideband *s);
/* Follows CPUs that came online. */
void sideband_refresh_cpus(struct sideband *s);

/* An epoll fd: readable where events wait. */
int sideband_fd(const struct sideband *s);

/*
 * Gives @fn every event up to now, in the order of time. Returns the number of
 * events that the kernel had to drop since the last call.
 */
uint64_t sideband_read(struct sideband *s, void (*fn)(void *ctx, const struct sideband_event *ev),
		       void *ctx);

#endif
