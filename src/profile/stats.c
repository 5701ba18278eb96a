/* SPDX-License-Identifier: MIT */
#include "profile/stats.h"

#include <math.h>
#include <stdlib.h>

#define Z95 1.959963984540054	/* P(Z > Z95) = 0.025 */
#define TAIL95 0.025
#define EXACT_VARIANCE 1e4	/* above it the normal distribution is as good as the exact one */
#define EXACT_EVENTS 1e15	/* and a double counts no further by ones */
#define NEGLIGIBLE 1e-300

double stats_normal_tail(double z)
{
	return erfc(z / M_SQRT2) / 2;
}

/*
 * The continued fraction of the incomplete beta function, by Lentz' method; good for x < (a + 1) /
 * (a + b + 2).
 */
static double beta_fraction(double a, double b, double x)
{
	enum { STEPS = 10000 };
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), f = d;

	for (int m = 1; m <= STEPS; m++) {
		const double terms[] = {
			m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
			-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
		};
		double before = f;

		for (int i = 0; i < 2; i++) {
			d = 1 / (1 + terms[i] * d);
			c = 1 + terms[i] / c;
			f *= c * d;
		}
		if (fabs(f - before) <= 1e-15 * fabs(f))
			break;
	}
	return f;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_share(double x, double a, double b)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
					 : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_tail(double t, double df)
{
	/*
	 * So many degrees of freedom are those of the normal distribution, and lgamma() would lose
	 * its digits.
	 */
	return df > 1e7 ? stats_normal_tail(t) : beta_share(df / (df + t * t), df / 2, 0.5) / 2;
}

/*
 * Newton's method: the tail is convex and the normal quantile is below t's, so it goes up to it and
 * never past.
 */
double stats_t_quantile(double tail, double df)
{
	double t = 0;

	for (int i = 0; i < 200; i++) {
		double density = exp(lgamma((df + 1) / 2) - lgamma(df / 2) -
				     (df + 1) / 2 * log1p(t * t / df)) /
				 sqrt(df * M_PI);
		double step = (stats_t_tail(t, df) - tail) / density;

		t += step;
		if (step <= 1e-12 * t)
			break;
	}
	return t;
}

/* --- Two counts. ----------------------------------------------------------- */

struct interval {
	double rate, low, high;
};

/*
 * Those rates of which the count is within z standard deviations, which are the rate's, not the
 * count's.
 */
static struct interval score(struct stats_count c, int binomial)
{
	const double z2 = Z95 * Z95, n = c.n, rate = c.x / n;
	double center, reach;

	if (binomial) {
		center = (rate + z2 / (2 * n)) / (1 + z2 / n);
		reach = Z95 / (1 + z2 / n) * sqrt(rate * (1 - rate) / n + z2 / (4 * n * n));
	} else {
		center = (c.x + z2 / 2) / n;
		reach = Z95 * sqrt(c.x + z2 / 4) / n;
	}
	return (struct interval){ rate, center - reach, center + reach };
}

/*
 * How many of the events were before, given how many there were in all: hypergeometric, or binomial
 * for Poisson counts. weight(x + 1) / weight(x); 0 at the end.
 */
struct split {
	double events, n1, n2;
	int binomial;
};

static double step_up(const struct split *s, double x)
{
	double left = s->events - x;

	if (left <= 0)
		return 0;
	if (!s->binomial)
		return left / (x + 1) * s->n1 / s->n2;
	return left / (x + 1) * fmax(s->n1 - x, 0) / (s->n2 - left + 1);
}

static double step_down(const struct split *s, double x)
{
	double less = x - 1, up = x > 0 && (!s->binomial || s->n2 - (s->events - less) >= 0)
					  ? step_up(s, less)
					  : 0;

	return up > 0 ? 1 / up : 0;
}

/*
 * Sums the weights from @from on by @step, @x's half below and half above what is as extreme, to
 * *@all, and what is at @x or beyond in this direction to *@beyond. The weight at @from is 1.
 */
static void add_weights(const struct split *s, double from, double x, int up, double *all,
			double *beyond)
{
	double weight = 1;

	for (double at = from; weight > NEGLIGIBLE; at += up ? 1 : -1) {
		if (at != from || up)
			*all += weight;
		if (at == x)
			*beyond += weight / 2;
		else if (up ? at > x : at < x)
			*beyond += weight;
		weight *= up ? step_up(s, at) : step_down(s, at);
	}
}

static double split_p(struct stats_count before, struct stats_count after, int binomial)
{
	struct split s = { before.x + after.x, before.n, after.n, binomial };
	double n = s.n1 + s.n2, mean = s.events * (s.n1 / n), variance = mean * (s.n2 / n);
	double all = 0, low = 0, high = 0, from, beyond;

	if (binomial)
		variance *= n > 1 ? (n - s.events) / (n - 1) : 0;
	if (variance <= 0)
		return 1;
	if (variance > EXACT_VARIANCE || s.events > EXACT_EVENTS)
		return 2 * stats_normal_tail(fabs(before.x - mean) / sqrt(variance));
	/* Rounding must not lead below what is possible. */
	from = fmax(floor(mean), binomial ? s.events - s.n2 : 0);
	add_weights(&s, from, before.x, 0, &all, &low);
	add_weights(&s, from, before.x, 1, &all, &high);
	/*
	 * What began on the near side of x has all that is beyond it, the other side's sum is what
	 * is left.
	 */
	beyond = before.x < from ? low : before.x > from ? high : fmin(low, high);
	return fmin(1, 2 * beyond / all);
}

struct stats_difference stats_counts(struct stats_count before, struct stats_count after,
				     int binomial)
{
	struct interval a = score(before, binomial), b = score(after, binomial);
	double change = b.rate - a.rate;

	return (struct stats_difference){
		.low = change - hypot(b.rate - b.low, a.high - a.rate),
		.high = change + hypot(b.high - b.rate, a.rate - a.low),
		.p = split_p(before, after, binomial),
	};
}

/* --- Repeated measurements. ------------------------------------------------ */

struct stats_difference stats_welch(struct stats_mean before, struct stats_mean after)
{
	double change = after.mean - before.mean, a = before.variance, b = after.variance,
	       error = sqrt(a + b), df, reach;

	if (error <= 0)
		return (struct stats_difference){ change, change, change != 0 ? 0 : 1 };
	df = (a + b) * (a + b) / (a * a / before.df + b * b / after.df);
	reach = error * stats_t_quantile(TAIL95, df);
	return (struct stats_difference){ change - reach, change + reach,
					  2 * stats_t_tail(fabs(change) / error, df) };
}

static int ascending(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double stats_significant(double *p, size_t n, double rate)
{
	if (n)
		qsort(p, n, sizeof(*p), ascending);
	for (size_t i = n; i-- > 0;)
		if (p[i] <= rate * (double)(i + 1) / (double)n)
			return p[i];
	return -1;
}
