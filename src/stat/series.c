/* SPDX-License-Identifier: MIT */
#include "stat/series.h"

#include <math.h>

#include "profile/stats.h"

#define TAIL95 0.025

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

static double deviation_of(const double *v, size_t n, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}

struct spread series_spread(const struct series *s)
{
	struct spread x = { .mean = mean_of(s->v.v, s->v.n), .low = s->v.v[0], .high = s->v.v[0] };

	x.deviation = deviation_of(s->v.v, s->v.n, x.mean);
	for (size_t i = 1; i < s->v.n; i++) {
		x.low = fmin(x.low, s->v.v[i]);
		x.high = fmax(x.high, s->v.v[i]);
	}
	return x;
}

/* Whether all values are above 0, so that ratios have logarithms. */
static int is_positive(const struct series *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s->v.v[i] > 0))
			return 0;
	return 1;
}

struct change series_change(const struct measure *m)
{
	const struct series *a = &m->sides[0], *b = &m->sides[1];
	size_t n = a->v.n < b->v.n ? a->v.n : b->v.n;
	int ratios = is_positive(a, n) && is_positive(b, n);
	double base, mean, reach, *pairs;

	if (n < 2)
		return (struct change){ 0 };
	base = mean_of(a->v.v, n);
	if (!(base > 0))
		return (struct change){ 0 };
	pairs = xcalloc(n, sizeof(*pairs));
	for (size_t i = 0; i < n; i++)
		pairs[i] = ratios ? log(b->v.v[i] / a->v.v[i]) : (b->v.v[i] - a->v.v[i]) / base;
	mean = mean_of(pairs, n);
	reach = stats_t_quantile(TAIL95, (double)(n - 1)) * deviation_of(pairs, n, mean) /
		sqrt((double)n);
	free(pairs);
	if (!ratios)
		return (struct change){ mean, fmax(mean - reach, -1), mean + reach, 1 };
	return (struct change){ expm1(mean), expm1(mean - reach), expm1(mean + reach), 1 };
}
