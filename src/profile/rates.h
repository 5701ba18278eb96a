/* SPDX-License-Identifier: MIT */
/*
 * Runs that are added up although they were not sampled at the same rate. A sample at 99 Hz stands
 * for ten times the time of one at 999 Hz: so what is comparable is time where runs were sampled by
 * time, and events where they were sampled every so many of them.
 */
#ifndef EBPROF_RATES_H
#define EBPROF_RATES_H

#include <stdint.h>

#include "profile/profile.h"

enum rates_weight {
	RATES_EQUAL,		/* nothing to do */
	RATES_TIME,		/* by time: the rates differ */
	RATES_EVENTS,		/* by events: the periods differ */
	RATES_UNKNOWN,		/* they differ, or one is not known: samples count alike */
};

/* All zeros: no run. */
struct rates {
	uint64_t runs, frequency, period;	/* of the first one */
	char event[128];
	int differ, no_time, no_events;
};

/*
 * Takes note of @run, and gives it a type to be weighed by where it has none, before it is merged
 * into others.
 */
void rates_add(struct rates *r, struct profile *run);
/* Has @merged show what makes its runs comparable, where it shows samples; says what that is. */
enum rates_weight rates_show(const struct rates *r, struct profile *merged);

#endif
