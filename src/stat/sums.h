/* SPDX-License-Identifier: MIT */
/*
 * What several counters of one event say together. Where there are more events than the CPU has
 * counters, each has one for a share of the time (perf_event_open(2): time_enabled, time_running).
 */
#ifndef EBPROF_SUMS_H
#define EBPROF_SUMS_H

/* @value is what would have been counted, if it had been for the whole time. */
struct counted {
	double value;
	double share;	/* of the time that it was counted for, 0 to 1; 0: never */
};

struct sums {
	double value;		/* scaled, of those that counted at all */
	double counted;		/* the time for which they were to count, ns, */
	double enabled;		/* with that of those that never did, */
	double running;		/* and for which they counted */
};

/* One more: it counted @value in @running of the @enabled ns. */
void sums_add(struct sums *s, double value, double enabled, double running);
/* Their sum; what one counts is @scale of its unit. */
struct counted sums_end(const struct sums *s, double scale);

#endif
