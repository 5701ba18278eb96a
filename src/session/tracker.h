/* SPDX-License-Identifier: MIT */
/*
 * Whose unwind tables the kernel holds: the processes that are sampled, and
 * what they fork and exec. Carries each change of their mappings from procs to
 * the unwinder, both borrowed, as is what knows their interpreters.
 */
#ifndef EBPROF_TRACKER_H
#define EBPROF_TRACKER_H

#include <stdint.h>
#include <sys/types.h>

#include "lang/langs.h"
#include "proc/procs.h"
#include "unwind/unwinder.h"

/*
 * To sort the mappings of a process with more than these takes long: so many times as long as it
 * took is left for others before it is done again.
 */
#define MANY_MAPPINGS	512
#define MANY_SPARE	4

struct tracker;

/* @all: whatever program starts will be sampled, whoever started it. */
struct tracker *tracker_new(struct procs *procs, struct unwinder *unwinder, struct langs *langs,
			    int all);
void tracker_free(struct tracker *t);

/* @pid is sampled, or will be. @start: as in struct ebp_process, 0: not known. */
void tracker_add(struct tracker *t, pid_t pid, uint64_t start);

/* Events, after procs has been told of them. */
void tracker_fork(struct tracker *t, pid_t pid, pid_t parent);
void tracker_exec(struct tracker *t, pid_t pid);
void tracker_exit(struct tracker *t, pid_t pid);

/* 1 where @pid is sampled, or will be. */
int tracker_follows(const struct tracker *t, pid_t pid);

/* Publishes what has changed. */
void tracker_publish(struct tracker *t);
/*
 * A grace period is over, and all events up to its end were told: what exited before the last call
 * is dropped.
 */
void tracker_epoch(struct tracker *t);

/* The mappings at @time for unwinder_rescue(): *@n in a malloc'd array. */
struct unwind_mapping *tracker_mappings(struct tracker *t, uint32_t incarnation, uint64_t time,
					size_t *n);

/* Of these, where their interpreter jumps to what it has compiled. */
void tracker_jump(struct tracker *t, const struct unwind_mapping *list, size_t n,
		  struct ebp_jump *out);

/*
 * The layout of the interpreter with a list of frames that a process maps (langs_layout()), and the
 * bias of that mapping; 0: it maps none that is known.
 */
uint32_t tracker_interpreter(struct tracker *t, uint32_t incarnation, uint64_t time,
			     uint64_t *bias);

#endif
