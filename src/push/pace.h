/* SPDX-License-Identifier: MIT */
/*
 * A rate of samples that the machine can bear: lowered where we take more of its CPU time than we
 * may, and raised again, never above what was asked for.
 */
#ifndef EBPROF_PACE_H
#define EBPROF_PACE_H

#include <stdint.h>

struct pace {
	double most;		/* % of the CPU time of all CPUs that are sampled */
	uint64_t asked, now;	/* Hz a CPU */
	/* as of the last decision: CLOCK_MONOTONIC ns; seconds of CPU time that we had taken */
	uint64_t at;
	double taken;
};

/*
 * By @now @taken seconds of CPU time were ours, on a machine of @cpus. 1 where @p->now became
 * another rate.
 */
int pace_turn(struct pace *p, uint64_t now, double taken, uint32_t cpus);

#endif
