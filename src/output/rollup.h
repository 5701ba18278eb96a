/* SPDX-License-Identifier: MIT */
/*
 * A profile summed up into rows, one a function or one a process, ready to be
 * shown: by the top table, by a live view, by a report. The caller frees the
 * arrays. Names are texts of the profile and live as long as it.
 */
#ifndef EBPROF_ROLLUP_H
#define EBPROF_ROLLUP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/profile.h"

#define ROLLUP_UNKNOWN "[unknown]"	/* a frame without a function */
#define ROLLUP_NO_STACK "[no stack]"	/* a sample without any frame */
#define ROLLUP_NO_COMM "?"		/* a thread or process without a name */

/* How a function of the profile is shown, @function up to and with nfunctions; never "". */
const char *rollup_name(const struct profile *p, size_t function);
/* How a comm (a string of the profile) is shown; never "". */
const char *rollup_comm(const struct profile *p, uint32_t comm);
/* What stands behind a thread's comm: "-PID/TID" where the profile tells threads apart, else "". Returns @ids. */
#define ROLLUP_IDS_MAX 32
const char *rollup_thread_ids(const struct profile *p, const struct thread *t, char ids[ROLLUP_IDS_MAX]);

struct rollup_function {
	const char *name;
	const char *module;	/* "" where unknown */
	enum frame_kind kind;
	uint64_t self;		/* samples whose innermost frame it is: they add up to all samples */
	uint64_t total;		/* samples with it anywhere on the stack, recursion counted once */
};

/* Only functions that were sampled; the most self samples first, then total, then by name. */
struct rollup_function *rollup_functions(const struct profile *p, size_t *n);

struct rollup_process {
	pid_t pid;
	const char *comm;
	uint64_t samples;
};

/* One row a pid and comm; the most samples first, then by pid. */
struct rollup_process *rollup_processes(const struct profile *p, size_t *n);

#endif
