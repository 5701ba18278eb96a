/* SPDX-License-Identifier: MIT */
/* Whether what a recording shows is what its program did. */
#ifndef EBPROF_SELFTEST_JUDGE_H
#define EBPROF_SELFTEST_JUDGE_H

#include <stdint.h>

#include "selftest/measure.h"
#include "selftest/programs.h"

/* What the program says of itself. */
struct truth {
	char version[32];	/* clean; "": it said nothing */
	uint64_t busy, rested;	/* ns */
	uint64_t blocks, bytes;
};

enum outcome_state { OUTCOME_RIGHT, OUTCOME_WRONG, OUTCOME_SKIPPED };

struct outcome {
	const struct selftest_program *program;
	enum outcome_state state;
	char why[256];		/* it is not right; clean */
	struct truth truth;
	struct measured measured;
};

/* Sets the state of what was recorded, and why. */
void judge(struct outcome *o);

/* The share of two() in what it and one() have; as it is, and as it should be. 0: there is none. */
double judge_share(const struct measured *m);
#define JUDGE_SHARE (2.0 / 3)
/* How far it may be off: what chance does to so many samples, and what sampling does itself. */
double judge_share_bound(const struct outcome *o);
/* Whole stacks of those with known functions: 0 to 1. */
double judge_whole(const struct measured *m);
/* How many functions ran, and how many of them are there by their names. */
int judge_names(const struct outcome *o, int *there);

#endif
