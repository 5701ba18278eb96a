/* SPDX-License-Identifier: MIT */
/*
 * Meters: events that are counted beside the one that is sampled (--counters). Each sample has what
 * they counted on its CPU since the last one there: a type of values each.
 */
#ifndef EBPROF_METERS_H
#define EBPROF_METERS_H

#include "collect/perf_events.h"
#include "sources/source.h"

extern const struct source_ops meters_ops;

/* Below: for the two halves of this source. */
struct meter {
	struct event event;
	uint32_t type;			/* of the profile */
	struct perf_events *events;
};

struct meters {
	struct source source;
	struct meter v[EBP_METERS_MAX];
	size_t n;
	uint64_t frequency;		/* of the samples: Hz a CPU; 0: not known */
	uint64_t lost;			/* values that could not be counted, at the end */
};

extern const struct collector_part_ops meters_kernel;

#endif
