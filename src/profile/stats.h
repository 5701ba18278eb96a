/* SPDX-License-Identifier: MIT */
/*
 * How sure a difference is: the few pieces of statistics that comparing profiles takes.
 *
 * Sources: score intervals, Wilson (1927); the interval of a difference, by squaring and
 * adding the distances to two such intervals, Newcombe (1998), method 10; the exact test
 * given both margins, Fisher (1935), with Lancaster's mid-p (1961), since plain exact tests
 * of small counts are far too careful; unequal variances, Welch (1947); many tests at
 * once, Benjamini and Hochberg (1995). All intervals are of 95 %, all tests two-sided.
 */
#ifndef EBPROF_STATS_H
#define EBPROF_STATS_H

#include <stddef.h>

/* P(Z > z) of the standard normal distribution. */
double stats_normal_tail(double z);
/* P(T > t) of Student's t with @df > 0 degrees of freedom, not necessarily whole; t >= 0. */
double stats_t_tail(double t, double df);
/* The t whose tail is @tail, 0 < tail < 0.5. */
double stats_t_quantile(double tail, double df);

/* After minus before. */
struct stats_difference {
	double low, high;	/* the interval */
	double p;		/* that chance alone makes such a difference, or a larger one */
};

/*
 * @x events in @n: trials, where @binomial is 1 (a share of samples: 0 <= x <= n), else what
 * the rate of a Poisson count is of (seconds). n > 0.
 */
struct stats_count {
	double x, n;
};
struct stats_difference stats_counts(struct stats_count before, struct stats_count after,
				     int binomial);

/* What repeated measurements say of a mean. */
struct stats_mean {
	double mean;
	double variance;	/* of the mean, not of a single measurement */
	double df;		/* that the variance was estimated with */
};
struct stats_difference stats_welch(struct stats_mean before, struct stats_mean after);

/*
 * Of @n tests, sorted here: what p may be at most to be called significant if of all that are
 * called so a share of @rate is to be by chance. Below 0 where none is.
 */
double stats_significant(double *p, size_t n, double rate);

#endif
