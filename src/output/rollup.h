/* SPDX-License-Identifier: MIT */
/*
 * A profile summed up into rows, one for each function, process and so on, ready
 * to be shown: by the top table, by a live view, by a report. The caller frees the
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
#define ROLLUP_NO_MODULE "[no module]"	/* of marks */

/* How a function of the profile is shown, @function up to and with nfunctions; never "". */
const char *rollup_name(const struct profile *p, size_t function);
/* The innermost function of a stack @node of the view; nfunctions: it has none, nor has node 0. */
size_t rollup_leaf(const struct profile_view *v, uint32_t node);
/* How a comm (a string of the profile) is shown; never "". */
const char *rollup_comm(const struct profile *p, uint32_t comm);
/*
 * What stands behind a thread's comm: "-PID/TID" where the profile tells threads apart, else "".
 * Returns @ids.
 */
#define ROLLUP_IDS_MAX 32
const char *rollup_thread_ids(const struct profile *p, const struct thread *t,
			      char ids[ROLLUP_IDS_MAX]);

/* A function, or a module, or a line of a function's source. */
struct rollup_function {
	const char *name;	/* of a module's row: the module's */
	/* of the profile, or one of a module's; nfunctions: none; PROFILE_NONE: no stack */
	uint32_t function;
	const char *module;	/* "" where unknown */
	enum frame_kind kind;
	const char *file;	/* of a line's row; "" where unknown */
	uint32_t line;		/* the same; 0 where unknown */
	/* the same, of code without a name: where in the module's file; else 0 */
	uint64_t address;
	/*
	 * samples whose innermost frame it is, but for marks of a wait: they add up to all samples
	 */
	uint64_t self;
	uint64_t total;		/* samples with it anywhere on the stack, recursion counted once */
};

/* Only what was sampled; the most self samples first, then total, then by name. */
struct rollup_function *rollup_functions(const struct profile *p, size_t *n);
struct rollup_function *rollup_modules(const struct profile *p, size_t *n);
struct rollup_function *rollup_lines(const struct profile *p, size_t *n);
/* Of the functions that have 1 in @functions, by index up to nfunctions; the rest is one row. */
struct rollup_function *rollup_lines_of(const struct profile *p, const unsigned char *functions,
					size_t *n);
/* The most total samples first, then self, then by name. */
void rollup_sort_by_total(struct rollup_function *rows, size_t n);

/* A process, or a thread. */
struct rollup_process {
	pid_t pid;		/* 0 where unknown */
	pid_t parent;		/* pid; 0 where unknown; of a process's row */
	pid_t tid;		/* of a thread's row; 0 where threads were not told apart */
	const char *comm;
	uint64_t samples;
};

/* One row a pid and comm; the most samples first, then by pid. */
struct rollup_process *rollup_processes(const struct profile *p, size_t *n);
/* One row a pid, tid and comm. */
struct rollup_process *rollup_threads(const struct profile *p, size_t *n);

#endif
