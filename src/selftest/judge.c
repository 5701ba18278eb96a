/* SPDX-License-Identifier: MIT */
#include "selftest/judge.h"

#include <math.h>
#include <stdio.h>

#define ANY (SELFTEST_SHARES | SELFTEST_WAITS | SELFTEST_BLOCKS)
#define BY_ITSELF 0.02		/* how far sampling by a clock is off, whatever is sampled */
#define LEAST_WHOLE 0.95
#define NS 1e9

/* Of which recordings a function is a part. */
static const unsigned int functions_of[SELFTEST_FUNCTIONS] = {
	[SELFTEST_MAIN] = ANY,
	[SELFTEST_ONE] = SELFTEST_SHARES | SELFTEST_BLOCKS,
	[SELFTEST_TWO] = SELFTEST_SHARES | SELFTEST_BLOCKS,
	[SELFTEST_SPIN] = SELFTEST_SHARES,
	[SELFTEST_REST_FUNCTION] = SELFTEST_WAITS,
};

static uint64_t both(const struct measured *m)
{
	return m->of[SELFTEST_ONE] + m->of[SELFTEST_TWO];
}

double judge_share(const struct measured *m)
{
	return both(m) ? (double)m->of[SELFTEST_TWO] / (double)both(m) : 0;
}

double judge_share_bound(const struct outcome *o)
{
	const double samples = (double)both(&o->measured) / NS * o->measured.rate;

	if (o->program->judged & SELFTEST_BLOCKS)
		return 0;
	return BY_ITSELF + 3 * sqrt(JUDGE_SHARE * (1 - JUDGE_SHARE) / fmax(samples, 1));
}

double judge_whole(const struct measured *m)
{
	return m->known ? (double)m->whole / (double)m->known : 0;
}

int judge_names(const struct outcome *o, int *there)
{
	int all = 0;

	*there = 0;
	for (int i = 0; i < SELFTEST_FUNCTIONS; i++) {
		all += (functions_of[i] & o->program->judged) != 0;
		*there += functions_of[i] & o->program->judged && o->measured.of[i];
	}
	return all;
}

static int has_names(const struct outcome *o)
{
	int there;

	return judge_names(o, &there) == there;
}

static int is_whole(const struct outcome *o)
{
	return judge_whole(&o->measured) >= LEAST_WHOLE;
}

/*
 * The bounds are wide: a runtime's own threads are in its time, and a hypervisor takes time away
 * that is counted as used, in which nothing is sampled.
 */
static int has_time(const struct outcome *o)
{
	const double share = (double)both(&o->measured) / (double)o->truth.busy;

	return share >= 0.5 && share <= 1.3;
}

static int has_shares(const struct outcome *o)
{
	return fabs(judge_share(&o->measured) - JUDGE_SHARE) <= judge_share_bound(o) + 1e-9;
}

/*
 * It slept at least as long as it asked for, but for what it took to fall asleep; and not longer
 * than it saw itself.
 */
static int has_waits(const struct outcome *o)
{
	const double asked = SELFTEST_RESTS * SELFTEST_REST * 1e6;
	const double measured = (double)o->measured.of[SELFTEST_REST_FUNCTION];

	return measured >= 0.9 * asked && measured <= 1.05 * (double)o->truth.rested;
}

static int has_blocks(const struct outcome *o)
{
	return o->measured.blocks == o->truth.blocks && both(&o->measured) == o->truth.bytes;
}

static const struct {
	unsigned int judged;
	int (*right)(const struct outcome *o);
	const char *fault;
} checks[] = {
	{ ANY, has_names, "functions that ran are not there by their names" },
	{ ANY, is_whole, "stacks do not lead to main" },
	{ SELFTEST_SHARES, has_time, "it is not the CPU time that was used" },
	{ SELFTEST_SHARES | SELFTEST_BLOCKS, has_shares,
	  "the shares are further off than chance explains" },
	{ SELFTEST_WAITS, has_waits, "it is not the time that was slept" },
	{ SELFTEST_BLOCKS, has_blocks, "it is not the memory that was allocated" },
};

void judge(struct outcome *o)
{
	o->state = OUTCOME_RIGHT;
	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		if (!(checks[i].judged & o->program->judged) || checks[i].right(o))
			continue;
		o->state = OUTCOME_WRONG;
		snprintf(o->why, sizeof(o->why), "%s", checks[i].fault);
		return;
	}
}
