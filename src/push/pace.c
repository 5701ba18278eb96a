/* SPDX-License-Identifier: MIT */
#include "push/pace.h"

#define SECOND 1e9
#define LEAST 1000000000u	/* ns: what is taken in less comes in bursts */
/*
 * Much of what we take does not depend on the rate, such as names of new programs: so a burst of
 * that halves it at most, each time, and it is raised in smaller steps, where some is left.
 */
#define DOWN 2
#define UP 4
#define ROOM 0.8

static uint64_t lower(const struct pace *p, double share)
{
	uint64_t fit = (uint64_t)((double)p->now * p->most / share), half = p->now / DOWN;
	uint64_t rate = fit > half ? fit : half;

	return rate ? rate : 1;
}

static uint64_t raise(const struct pace *p)
{
	uint64_t rate = p->now + (p->now / UP ? p->now / UP : 1);

	return rate < p->asked ? rate : p->asked;
}

int pace_turn(struct pace *p, uint64_t now, double taken, uint32_t cpus)
{
	uint64_t was = p->now;
	double share;

	if (now < p->at + LEAST || !cpus)
		return 0;
	share = 100 * (taken - p->taken) / ((double)(now - p->at) / SECOND * cpus);
	if (share > p->most)
		p->now = lower(p, share);
	else if (share < ROOM * p->most)
		p->now = raise(p);
	p->at = now;
	p->taken = taken;
	return p->now != was;
}
