/* SPDX-License-Identifier: MIT */
/*
 * Events by perf's names -> struct perf_event_attr (perf_event_open(2)).
 *
 * Known: hardware, software and cache events with perf's aliases
 * ("branches" for branch-instructions, "faults" for page-faults, "cs" for context-switches,
 * "L1-dcache-load-misses", ...), raw "rHEX", those of a PMU "PMU/TERM=VALUE,.../" (pmu.h), and
 * tracepoints "group:name"; modifiers after a colon: u k (only that side), p pp ppp (precise), as
 * in "cycles:u" or "sched:sched_switch:k".
 */
#ifndef EBPROF_EVENT_H
#define EBPROF_EVENT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct event {
	char name[128];		/* as perf names it, with its modifiers */
	uint32_t type;		/* PERF_TYPE_* */
	uint64_t config;
	int exclude_user, exclude_kernel, precise;
	/* the config of a second event that is counted as this one; 0: none */
	uint64_t also;
	/* Of a PMU's events: whose, what else the user said, and what is read beside them. */
	char pmu[64];			/* "": it is not one of them */
	uint64_t config1, config2, config3;
	/* "", or what several PMUs are named by, of which @pmu is the first (pmu_events()) */
	char family[64];
	char terms[128];		/* what stands between the slashes */
	uint64_t period;		/* 0: as for all events */
	double scale;			/* a count is so many of @unit; 0: 1 */
	char unit[16];
	int uncore;			/* counts for all CPUs of a socket, on one of them */
};

/*
 * Parses @name. Tracepoint ids are read from @tracefs (a mounted tracefs's
 * "events" folder, NULL where there is none). 0; -EINVAL unknown or malformed
 * (@e suggests a near name); -ENOENT no such tracepoint; -EACCES tracefs is
 * missing or unreadable (@e says how to mount it). All fill @e.
 */
int event_parse(const char *name, const char *tracefs, struct event *out, struct error *e);

/*
 * The next name of *@list, whose names have commas between them, to @name (@size bytes); an empty
 * one where it does not fit. 0 where there is no more.
 */
int event_next(const char **list, char *name, size_t size);

typedef void event_show(void *ctx, const struct event *ev);
/*
 * Calls @show for each event that has a name: those of the table, then the tracepoints (without
 * their ids) where @tracefs is not NULL. Whether this machine has them is another question.
 */
void event_list(const char *tracefs, event_show *show, void *ctx);

/*
 * A clock counts time, so it takes a frequency without adapting: cpu-clock,
 * task-clock.
 */
int event_is_clock(const struct event *ev);
/* 1 where samples of it at a rate stand for time on the CPU. */
int event_is_time(const struct event *ev);
/*
 * As perf_event_open(2) wants it: @frequency in Hz, or where that is 0 a sample every @period;
 * @idle: in the idle task, too.
 */
struct perf_event_attr event_attr(const struct event *ev, uint64_t frequency, uint64_t period,
				  int idle);
/* 1 where it is the kernel that counts, and not hardware, which interrupts anything. */
int event_is_software(const struct event *ev);

#endif
