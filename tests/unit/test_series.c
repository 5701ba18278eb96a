/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <math.h>

#include "stat/series.h"
#include "unit/draws.h"

static void fill(struct series *s, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		vec_push(&s->v, v[i]);
}

static void empty(struct measure *m)
{
	vec_free(&m->sides[0].v);
	vec_free(&m->sides[1].v);
}

TEST(spread_of_single_runs)
{
	static const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct measure m = { 0 };
	struct spread x;

	fill(&m.sides[0], v, 1);
	x = series_spread(&m.sides[0]);
	CHECK(x.mean == 2 && x.deviation == 0 && x.low == 2 && x.high == 2);
	fill(&m.sides[0], v + 1, 7);
	x = series_spread(&m.sides[0]);
	CHECK(x.mean == 5 && x.low == 2 && x.high == 9);
	CHECK(fabs(x.deviation - sqrt(32.0 / 7)) < 1e-12);
	empty(&m);
}

/* The paired t interval of the logarithms 0.1, 0.2, 0.3: their mean, t(2) and deviation. */
TEST(change_is_that_of_pairs)
{
	const double a[] = { 1, 10, 100 };
	const double b[] = { exp(0.1), 10 * exp(0.2), 100 * exp(0.3) };
	struct measure m = { 0 };
	struct change c;

	fill(&m.sides[0], a, 3);
	fill(&m.sides[1], b, 3);
	c = series_change(&m);
	CHECK(c.known);
	CHECK(fabs(c.share - expm1(0.2)) < 1e-12);
	CHECK(fabs(c.low - expm1(0.2 - 4.302653 * 0.1 / sqrt(3))) < 1e-6);
	CHECK(fabs(c.high - expm1(0.2 + 4.302653 * 0.1 / sqrt(3))) < 1e-6);
	empty(&m);
}

TEST(no_ratio_of_nothing)
{
	static const double zeros[] = { 0, 0, 0 }, some[] = { 0, 2, 4 }, more[] = { 2, 4, 6 };
	struct measure m = { 0 };

	fill(&m.sides[0], some, 1);
	fill(&m.sides[1], more, 3);
	CHECK(!series_change(&m).known);
	fill(&m.sides[0], some + 1, 2);
	CHECK(series_change(&m).known);
	/* Each is larger by 2, of 2 on average. */
	CHECK(fabs(series_change(&m).share - 1) < 1e-12);
	empty(&m);
	fill(&m.sides[0], zeros, 3);
	fill(&m.sides[1], more, 3);
	CHECK(!series_change(&m).known);
	empty(&m);
}

/* Of equal series one in twenty has an interval without 0; what varies together makes none wide. */
TEST(interval_holds_in_95_of_100)
{
	enum { SERIES = 2000, RUNS = 8 };
	uint64_t state = 20261124;
	size_t missed = 0;
	double widest = 0;

	for (size_t i = 0; i < SERIES; i++) {
		struct measure m = { 0 };
		struct change c;

		for (size_t k = 0; k < RUNS; k++) {
			double load = 1 + 3 * draw_unit(&state);

			vec_push(&m.sides[0].v, load * exp(0.01 * draw_normal(&state)));
			vec_push(&m.sides[1].v, load * exp(0.01 * draw_normal(&state)));
		}
		c = series_change(&m);
		missed += c.low > 0 || c.high < 0;
		widest = fmax(widest, c.high - c.low);
		empty(&m);
	}
	CHECK(missed > SERIES * 0.035 && missed < SERIES * 0.065);
	CHECK(widest < 0.1);
}

int main(void)
{
	RUN(spread_of_single_runs);
	RUN(change_is_that_of_pairs);
	RUN(no_ratio_of_nothing);
	RUN(interval_holds_in_95_of_100);
	return TEST_END();
}
