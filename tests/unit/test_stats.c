/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <math.h>

#include "profile/stats.h"
#include "unit/draws.h"

#define CHECK_NEAR(a, b, tolerance) do { \
	double a_ = (a), b_ = (b); \
	if (!(fabs(a_ - b_) <= (tolerance))) { \
		test_ok = 0; \
		printf("%s:%d: %s is %.12g, expected %.12g\n", __FILE__, __LINE__, #a, a_, b_); \
	} \
} while (0)

#define COUNT(x, n) ((struct stats_count){ (x), (n) })

/* As printed in any book of tables. */
TEST(distributions_are_those_of_the_tables)
{
	static const struct {
		double df, t;
	} tables[] = {
		{ 1, 12.706205 }, { 2, 4.302653 },  { 3, 3.182446 },   { 5, 2.570582 },
		{ 10, 2.228139 }, { 30, 2.042272 }, { 120, 1.979930 }, { 1e9, 1.959964 },
	};

	CHECK_NEAR(stats_normal_tail(0), 0.5, 1e-15);
	CHECK_NEAR(stats_normal_tail(1.644853627), 0.05, 1e-9);
	CHECK_NEAR(stats_normal_tail(1.959963985), 0.025, 1e-9);
	CHECK_NEAR(stats_normal_tail(5) / 2.866515719e-7, 1, 1e-9);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		CHECK_NEAR(stats_t_quantile(0.025, tables[i].df), tables[i].t, 1e-6);
		CHECK_NEAR(stats_t_tail(tables[i].t, tables[i].df), 0.025, 1e-7);
	}
	/* Of one degree the distribution is Cauchy's, of two it is a root. */
	CHECK_NEAR(stats_t_tail(3, 1), 0.5 - atan(3) / M_PI, 1e-14);
	CHECK_NEAR(stats_t_tail(3, 2), 0.5 - 3 / sqrt(11) / 2, 1e-14);
	CHECK_NEAR(stats_t_quantile(0.0005, 1), 636.619249, 1e-5);
	CHECK_NEAR(stats_t_tail(0, 7), 0.5, 1e-15);
}

/* The examples of Newcombe's paper, method 10: he takes the second from the first. */
TEST(intervals_are_those_of_the_paper)
{
	static const struct { double x1, n1, x2, n2, low, high; } paper[] = {
		{ 56, 70, 48, 80, 0.0524, 0.3339 }, { 9, 10, 3, 10, 0.1705, 0.8090 },
		{ 10, 10, 0, 10, 0.6075, 1.0000 }, { 0, 10, 0, 20, -0.1611, 0.2775 },
	};

	for (size_t i = 0; i < sizeof(paper) / sizeof(*paper); i++) {
		struct stats_difference d = stats_counts(COUNT(paper[i].x2, paper[i].n2),
							 COUNT(paper[i].x1, paper[i].n1), 1);

		CHECK_NEAR(d.low, paper[i].low, 5e-5);
		CHECK_NEAR(d.high, paper[i].high, 5e-5);
	}
}

/* By hand: p is twice the smaller tail, of which the observed table counts half. */
TEST(small_counts_are_tested_exactly)
{
	/* 3 of 4 cups against 1 of 4: tables with 0..4 weigh 1, 16, 36, 16, 1 of 70. */
	CHECK_NEAR(stats_counts(COUNT(3, 4), COUNT(1, 4), 1).p, 2 * (16.0 / 2 + 1) / 70, 1e-14);
	CHECK_NEAR(stats_counts(COUNT(1, 4), COUNT(3, 4), 1).p, 2 * (16.0 / 2 + 1) / 70, 1e-14);
	CHECK_NEAR(stats_counts(COUNT(4, 4), COUNT(0, 4), 1).p, 2 * 0.5 / 70, 1e-14);
	CHECK_NEAR(stats_counts(COUNT(2, 4), COUNT(2, 4), 1).p, 1, 1e-14);
	/* Where one side is much longer: all three in the short one. */
	CHECK_NEAR(stats_counts(COUNT(0, 10000), COUNT(3, 100), 1).p /
			   (100.0 * 99 * 98 / (10100.0 * 10099 * 10098)),
		   1, 1e-9);
	/* Heads of a coin: none of five; of a die: one of one. */
	CHECK_NEAR(stats_counts(COUNT(0, 10), COUNT(5, 10), 0).p, 1 / 32.0, 1e-14);
	CHECK_NEAR(stats_counts(COUNT(2, 1), COUNT(0, 5), 0).p, 1 / 36.0, 1e-14);
	/* All samples, and none, are no difference. */
	CHECK_NEAR(stats_counts(COUNT(50, 50), COUNT(70, 70), 1).p, 1, 0);
	CHECK_NEAR(stats_counts(COUNT(0, 50), COUNT(0, 70), 1).p, 1, 0);
	CHECK_NEAR(stats_counts(COUNT(0, 50), COUNT(0, 70), 0).p, 1, 0);
	/* Far out: no number is small enough. */
	CHECK_NEAR(stats_counts(COUNT(0, 1e6), COUNT(9000, 1e6), 1).p, 0, 1e-300);
	CHECK_NEAR(stats_counts(COUNT(1e6, 1e6), COUNT(0, 1e6), 1).p, 0, 1e-300);
}

/* Both sides of the edge where counts are large. */
TEST(large_counts_are_tested_alike)
{
	double below = stats_counts(COUNT(19799, 1e6), COUNT(20199, 1e6), 0).p;
	double above = stats_counts(COUNT(19801, 1e6), COUNT(20201, 1e6), 0).p;

	CHECK_NEAR(below / above, 1, 1e-3);
	CHECK_NEAR(below, 2 * stats_normal_tail(2), 1e-4);
}

/* Nothing that a file can say takes long. */
TEST(any_numbers_end)
{
	static const double numbers[] = { 0,	1,    3,
					  1e5,	1e9,  1e15,
					  9e15, 1e18, 18446744073709551615.0 };
	enum { N = sizeof(numbers) / sizeof(*numbers) };
	int bad = 0;

	for (size_t i = 0; i < (size_t)N * N * N * N * 2; i++) {
		struct stats_count a = COUNT(numbers[i / 2 % N], numbers[i / 2 / N % N]);
		struct stats_count b = COUNT(numbers[i / 2 / N / N % N],
					     numbers[i / 2 / N / N / N]);
		struct stats_difference d;

		if (a.n < 1 || b.n < 1 || a.x > a.n || b.x > b.n)
			continue;
		d = stats_counts(a, b, (int)(i % 2));
		bad += !(d.p >= 0 && d.p <= 1 && d.low <= d.high);
	}
	CHECK_EQ(bad, 0);
}

/* Student's own extra hours of sleep (1908), as two groups. */
TEST(welch_is_that_of_the_book)
{
	static const double hours[2][10] = {
		{ 0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0 },
		{ 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4 },
	};
	struct stats_mean groups[2] = { 0 };
	struct stats_difference d;

	for (int g = 0; g < 2; g++) {
		for (int i = 0; i < 10; i++)
			groups[g].mean += hours[g][i] / 10;
		for (int i = 0; i < 10; i++)
			groups[g].variance += (hours[g][i] - groups[g].mean) *
					      (hours[g][i] - groups[g].mean) / 9 / 10;
		groups[g].df = 9;
	}
	d = stats_welch(groups[0], groups[1]);
	CHECK_NEAR(d.p, 0.07939414, 1e-8);
	CHECK_NEAR(d.low, -0.2054832, 1e-7);
	CHECK_NEAR(d.high, 3.3654832, 1e-7);
	/* Without any spread there is no doubt. */
	groups[0].variance = groups[1].variance = 0;
	CHECK_NEAR(stats_welch(groups[0], groups[1]).p, 0, 0);
	CHECK_NEAR(stats_welch(groups[0], groups[0]).p, 1, 0);
}

/* The example of the paper of 1995: four of fifteen. */
TEST(discoveries_are_those_of_the_paper)
{
	double p[] = { 0.0298, 0.0004, 0.0019, 0.0095, 0.0201, 0.3240, 0.0278, 0.0344,
		       0.0459, 0.0001, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	/* The second alone would not do: 0.04 > 0.05 / 2, but it is carried by the third. */
	double carried[] = { 0.001, 0.040, 0.045 }, none[] = { 0.02, 0.04, 0.9, 0.06 };

	CHECK_NEAR(stats_significant(p, 15, 0.05), 0.0095, 0);
	CHECK_NEAR(stats_significant(carried, 3, 0.05), 0.045, 0);
	CHECK(stats_significant(none, 4, 0.05) < 0);
	CHECK(stats_significant(NULL, 0, 0.05) < 0);
}

/*
 * Per cent of trials in which two draws of the rates are called different, and in which the
 * interval has the true change.
 */
static void try_counts(uint64_t seed, int binomial, double rate1, double rate2, uint64_t n1,
		       uint64_t n2, double *different, double *covered)
{
	enum { TRIALS = 20000 };
	uint64_t state = seed;

	*different = *covered = 0;
	for (int i = 0; i < TRIALS; i++) {
		/* A Poisson count is one of very many trials of a small chance. */
		uint64_t x1 = binomial ? draw_binomial(&state, n1, rate1)
				       : draw_binomial(&state, n1 * 10000, rate1 / 10000);
		uint64_t x2 = binomial ? draw_binomial(&state, n2, rate2)
				       : draw_binomial(&state, n2 * 10000, rate2 / 10000);
		struct stats_difference d = stats_counts(COUNT((double)x1, (double)n1),
							 COUNT((double)x2, (double)n2), binomial);

		*different += (d.p < 0.05) * 100.0 / TRIALS;
		*covered += (d.low <= rate2 - rate1 && rate2 - rate1 <= d.high) * 100.0 / TRIALS;
	}
}

TEST(counts_deceive_as_often_as_they_say)
{
	static const struct {
		int binomial;
		double rate;
		uint64_t n1, n2;
	} equal[] = {
		{ 1, 0.01, 4000, 4000 }, { 1, 0.05, 2000, 500 }, { 1, 0.2, 1000, 300 },
		{ 1, 0.5, 400, 400 },	 { 0, 3, 10, 10 },	 { 0, 1.5, 10, 50 },
	};
	static const struct { int binomial; double rate1, rate2; uint64_t n1, n2; } unequal[] = {
		{ 1, 0.01, 0.02, 4000, 4000 }, { 1, 0.3, 0.2, 300, 1000 }, { 0, 2, 5, 20, 10 },
	};
	double different, covered;

	for (size_t i = 0; i < sizeof(equal) / sizeof(*equal); i++) {
		try_counts(i, equal[i].binomial, equal[i].rate, equal[i].rate, equal[i].n1,
			   equal[i].n2, &different, &covered);
		CHECK_NEAR(different, 5, 1);
		CHECK_NEAR(covered, 95, 1);
	}
	for (size_t i = 0; i < sizeof(unequal) / sizeof(*unequal); i++) {
		try_counts(i, unequal[i].binomial, unequal[i].rate1, unequal[i].rate2,
			   unequal[i].n1, unequal[i].n2, &different, &covered);
		CHECK(different > 50);
		CHECK_NEAR(covered, 95, 1);
	}
}

int main(void)
{
	RUN(distributions_are_those_of_the_tables);
	RUN(intervals_are_those_of_the_paper);
	RUN(small_counts_are_tested_exactly);
	RUN(large_counts_are_tested_alike);
	RUN(any_numbers_end);
	RUN(welch_is_that_of_the_book);
	RUN(discoveries_are_those_of_the_paper);
	RUN(counts_deceive_as_often_as_they_say);
	return TEST_END();
}
