/* SPDX-License-Identifier: MIT */
/*
 * The first level of the top-down method: of the slots in which a CPU can issue micro-operations,
 * how many were used for what retired and for what was thrown away, and how many were empty because
 * none was delivered, or could be taken. Sources: A. Yasin, "A Top-Down Method for Performance
 * Analysis and Counters Architecture" (ISPASS 2014); Linux, tools/perf/Documentation/topdown.txt;
 * Arm, "Telemetry specification, topdown methodology".
 */
#ifndef EBPROF_TOPDOWN_H
#define EBPROF_TOPDOWN_H

#include <stddef.h>
#include <stdint.h>

#include "collect/event.h"

enum { TOPDOWN_RETIRING, TOPDOWN_BAD_SPECULATION, TOPDOWN_FRONTEND, TOPDOWN_BACKEND,
       TOPDOWN_SHARES };

#define TOPDOWN_EVENTS 5	/* that are counted for it, at most */

struct topdown_method;

struct topdown {
	const struct topdown_method *method;
	size_t n;		/* events that it needs; 0: no PMU has them */
	int group;		/* they count only as a group, which the first one leads */
	uint64_t width;		/* slots of a cycle, where no event counts slots; else 0 */
};

extern const char *const topdown_names[TOPDOWN_SHARES];

/*
 * The first PMU in @devices (collect/pmu.h) that has what a method needs; @events gets its events.
 * Of the kinds of CPUs of a machine that has several, that is one.
 */
struct topdown topdown_find(const char *devices, struct event events[TOPDOWN_EVENTS]);
/* The shares, which add up to 1, from the events' @counts; -ENODATA where there is no slot. */
int topdown_shares(const struct topdown *t, const double *counts, double shares[TOPDOWN_SHARES]);

#endif
