/* SPDX-License-Identifier: MIT */
/* What was measured of one command, or of two that are compared: a number for each run. */
#ifndef EBPROF_SERIES_H
#define EBPROF_SERIES_H

#include <stddef.h>

#include "base/vec.h"

enum series_unit { SERIES_NS, SERIES_BYTES, SERIES_COUNT, SERIES_SCALED,
		   SERIES_PERCENT };

struct series {
	VEC(double) v;		/* a value for each run */
	double share;		/* least share of the time that it was counted for */
	int absent;		/* this machine cannot measure it */
};

/* A row of the result. */
struct measure {
	const char *name;	/* "elapsed", an event's */
	enum series_unit unit;
	const char *unit_name;	/* of SERIES_SCALED: "Joules" */
	int event;		/* its place among those that are counted; -1: none */
	struct series sides[2];	/* the second one where two commands are compared */
};

struct spread {
	double mean, deviation;	/* of single runs; 0 where there is one */
	double low, high;	/* the least and the largest one */
};
/* @s has a value at least. */
struct spread series_spread(const struct series *s);

/*
 * How the second side differs from the first, as a share of it, with an interval of 95 %. Runs are
 * compared in pairs, so what both sides of a pair have in common, as a machine that is busy for a
 * while, cancels out. Source: Student's t of the pairs' ratios' logarithms, whose mean is that of a
 * ratio whichever side it is looked at from; of the differences where a value is 0.
 */
struct change {
	double share, low, high;
	int known;		/* 0: fewer than two pairs, or nothing to compare with */
};
struct change series_change(const struct measure *m);

#endif
