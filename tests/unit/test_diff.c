/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>

#include "output/rollup.h"
#include "profile/diff.h"
#include "unit/draws.h"
#include "unit/stacks.h"

#define NEAR(a, b, tolerance) (fabs((a) - (b)) <= (tolerance))
#define RUNS_MAX 16

/* The comparison of @before and @after, @n[0] and @n[1] runs, which it frees. */
static struct diff *compare(enum diff_normalize normalize, const size_t n[2],
			    struct profile *const *before, struct profile *const *after)
{
	struct diff *d = diff_new(normalize, n);
	struct profile *const *const runs[2] = { before, after };

	for (int side = 1; side >= 0; side--)
		for (size_t i = 0; i < n[side]; i++) {
			CHECK_EQ(diff_add(d, (enum diff_side)side, runs[side][i], NULL), 0);
			profile_free(runs[side][i]);
		}
	diff_compare(d);
	return d;
}

static struct diff *compare_two(enum diff_normalize normalize, struct profile *before,
				struct profile *after)
{
	return compare(normalize, (const size_t[]){ 1, 1 }, &before, &after);
}

static const struct diff_row *find(const struct diff *d, const struct diff_list *l,
				   const char *name)
{
	static const struct diff_row none;
	const struct profile *p = diff_profile(d);

	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->rows[i].function == PROFILE_NONE
				    ? ROLLUP_NO_STACK
				    : rollup_name(p, l->rows[i].function),
			    name))
			return &l->rows[i];
	printf("no row for %s\n", name);
	test_ok = 0;
	return &none;
}

/* main calls hot, cold and others; @hot of @total samples end in hot. */
static struct profile *simple(uint64_t hot, uint64_t total, uint64_t seconds, uint64_t hz)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "app");

	stacks_add(p, t, "app!main|app!hot", hot);
	stacks_add(p, t, "app!main|app!cold", total - hot);
	profile_meta(p)->duration = seconds * 1000000000;
	profile_meta(p)->frequency = hz;
	return p;
}

TEST(rows_are_what_was_counted)
{
	struct profile *a = profile_new(), *b = profile_new();
	uint32_t t = stacks_thread(a, 1, 1, "x"), u = stacks_thread(b, 2, 2, "x");
	const struct diff_row *r;
	struct diff *d;

	stacks_add(a, t, "app!main|app!f|app!f|app!g", 30);
	stacks_add(a, t, "app!main|app!gone", 50);
	stacks_add(a, t, "", 20);
	stacks_add(b, u, "app!main|app!g|app!f", 150);
	stacks_add(b, u, "app!main|app!new|app!@", 50);
	d = compare_two(DIFF_SAMPLES, a, b);
	CHECK_EQ(diff_self(d)->n, 5);
	CHECK_EQ(diff_total(d)->n, 7);
	r = find(d, diff_self(d), "f");
	CHECK(r->count[0] <= 0 && NEAR(r->count[1], 150, 0) && NEAR(diff_change(r), 0.75, 1e-12));
	r = find(d, diff_total(d), "f");
	CHECK(NEAR(r->rate[0], 0.3, 1e-12) && NEAR(r->rate[1], 0.75, 1e-12) &&
	      NEAR(r->count[0], 30, 0));
	CHECK(r->low > 0.3 && r->low < 0.45 && r->high > 0.45 && r->high < 0.6 && r->significant);
	CHECK(NEAR(find(d, diff_total(d), "main")->rate[0], 0.8, 1e-12));
	CHECK(NEAR(find(d, diff_self(d), "gone")->rate[0], 0.5, 1e-12) &&
	      find(d, diff_self(d), "gone")->significant);
	CHECK(NEAR(find(d, diff_self(d), "[no stack]")->rate[0], 0.2, 1e-12));
	CHECK(NEAR(find(d, diff_self(d), "[unknown]")->rate[1], 0.25, 1e-12));
	CHECK(NEAR(find(d, diff_total(d), "new")->count[1], 50, 0));
	/* The largest change first, and what flame graphs and folded stacks take. */
	CHECK(diff_self(d)->rows == find(d, diff_self(d), "f"));
	CHECK_EQ(profile_view(diff_profile(d)).types[0].total, 100);
	CHECK_EQ(profile_view(diff_profile(d)).types[1].total, 200);
	CHECK(NEAR(diff_weight(d), 2, 1e-12));
	diff_free(d);
	diff_free(NULL);
}

/* Twice as long, with a third of the load. */
TEST(rates_and_lengths_are_no_change)
{
	/*
	 * Rates of hot; of its 900 samples the first profile has 300 there, the second 200 of 600.
	 */
	static const struct { double before, after, weight; int changed; } expected[] = {
		[DIFF_SAMPLES] = { 300 / 900.0, 200 / 600.0, 600 / 900.0, 0 },
		[DIFF_SECONDS] = { 0.3, 0.1, 2000 / 1000.0, 1 },
		[DIFF_NONE] = { 300 / 900.0, 200 / 900.0, 1, 1 },
	};
	struct profile *runs[2];
	struct diff *d;

	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const struct diff_row *hot;

		d = compare_two((enum diff_normalize)i, simple(300, 900, 10, 100),
				simple(200, 600, 20, 100));
		hot = find(d, diff_self(d), "hot");
		CHECK(NEAR(hot->rate[0], expected[i].before, 1e-9));
		CHECK(NEAR(hot->rate[1], expected[i].after, 1e-9));
		CHECK_EQ(hot->significant, expected[i].changed);
		CHECK(NEAR(diff_weight(d), expected[i].weight, 1e-9));
		diff_free(d);
	}
	/* As many CPUs kept busy, at another rate. */
	d = compare_two(DIFF_SECONDS, simple(300, 900, 10, 100), simple(300, 900, 20, 50));
	CHECK(NEAR(find(d, diff_total(d), "main")->rate[1], 0.9, 1e-9));
	CHECK_EQ(diff_total(d)->significant + diff_self(d)->significant, 0);
	diff_free(d);
	/* The same, by what each sample took. */
	runs[0] = simple(300, 900, 10, 0);
	runs[1] = simple(300, 900, 20, 0);
	profile_show(runs[0], profile_derive(runs[0], 0, "cpu", "nanoseconds", 10000000));
	profile_derive(runs[1], 0, "cpu", "nanoseconds", 20000000);
	d = compare_two(DIFF_SECONDS, runs[0], runs[1]);
	CHECK(NEAR(find(d, diff_total(d), "main")->rate[0], 0.9, 1e-9));
	CHECK(NEAR(find(d, diff_total(d), "main")->rate[1], 0.9, 1e-9));
	CHECK(diff_counted(d));
	diff_free(d);
	/* What is time and no count of samples is as many CPUs. */
	runs[0] = simple(4, 9, 1, 0);
	runs[1] = simple(3, 9, 2, 0);
	profile_set_type(runs[0], 0, "delay", "nanoseconds");
	profile_set_type(runs[1], 0, "delay", "nanoseconds");
	d = compare_two(DIFF_SECONDS, runs[0], runs[1]);
	CHECK(NEAR(find(d, diff_self(d), "hot")->rate[0], 4e-9, 1e-15));
	CHECK(NEAR(find(d, diff_self(d), "hot")->rate[1], 1.5e-9, 1e-15));
	diff_free(d);
}

TEST(what_cannot_be_compared_is_an_error)
{
	static const size_t one[] = { 1, 1 };
	struct diff *d = diff_new(DIFF_SECONDS, one);
	struct profile *empty = profile_new(), *plain = simple(1, 2, 0, 99),
		       *good = simple(1, 2, 1, 99);
	struct profile *bytes = simple(1, 2, 1, 99);
	struct error e = { 0 };

	CHECK_EQ(diff_add(d, DIFF_BEFORE, empty, &e), -ENODATA);
	CHECK_EQ(e.status, STATUS_NO_SAMPLES);
	CHECK_EQ(diff_add(d, DIFF_BEFORE, plain, &e), -EINVAL);
	CHECK(strstr(e.text, "how long") && strstr(e.text, "--normalize samples"));
	profile_meta(plain)->duration = 5;
	profile_meta(plain)->frequency = 0;
	CHECK_EQ(diff_add(d, DIFF_BEFORE, plain, &e), -EINVAL);
	CHECK(strstr(e.text, "how often"));
	CHECK_EQ(diff_add(d, DIFF_BEFORE, good, &e), 0);
	profile_set_type(bytes, 0, "space", "bytes");
	CHECK_EQ(diff_add(d, DIFF_AFTER, bytes, &e), -EINVAL);
	CHECK_STR(e.text, "measures space in bytes, the others count");
	CHECK_EQ(diff_add(d, DIFF_AFTER, good, &e), 0);
	diff_compare(d);
	CHECK_EQ(diff_self(d)->n, 2);
	diff_free(d);
	profile_free(empty);
	profile_free(plain);
	profile_free(good);
	profile_free(bytes);
}

/*
 * CPU time that was made of samples is compared as samples; bytes that were not as bytes, without
 * an interval.
 */
TEST(values_are_counts_where_they_can_be)
{
	struct profile *a = simple(300, 1000, 1, 100), *b = simple(310, 1000, 1, 100);
	struct diff *d;

	profile_show(a, profile_derive(a, 0, "cpu", "nanoseconds", 10000000));
	profile_show(b, profile_derive(b, 0, "cpu", "nanoseconds", 10000000));
	d = compare_two(DIFF_SAMPLES, a, b);
	CHECK(diff_counted(d));
	CHECK(NEAR(find(d, diff_self(d), "hot")->count[0], 300, 0));
	diff_free(d);
	a = simple(300, 1000, 1, 100);
	b = simple(900, 1000, 1, 100);
	profile_show(a, profile_derive(a, 0, "space", "bytes", 1));
	profile_count(a, 0, 1, 500);
	profile_show(b, profile_derive(b, 0, "space", "bytes", 1));
	profile_count(b, 0, 1, 100);
	d = compare_two(DIFF_SAMPLES, a, b);
	CHECK(!diff_counted(d));
	CHECK_STR(diff_unit(d), "bytes");
	CHECK(NEAR(find(d, diff_self(d), "hot")->count[0], 800, 0));
	CHECK(!isfinite(find(d, diff_self(d), "hot")->low));
	CHECK_EQ(diff_self(d)->significant, 0);
	diff_free(d);
}

/* What was inlined is the innermost function, and the one that it went into is not. */
TEST(inlined_functions_are_rows)
{
	struct profile *runs[2];
	struct diff *d;

	for (int i = 0; i < 2; i++) {
		struct profile *p = runs[i] = profile_new();
		const struct line lines[] = {
			{ .function = profile_function(p, profile_string(p, "inner"), 0,
						       FRAME_USER) },
			{ .function = profile_function(p, profile_string(p, "outer"), 0,
						       FRAME_USER) },
		};
		uint32_t l = profile_location(p, 0, FRAME_USER, 1);

		profile_name_location(p, l, lines, 2, "");
		profile_add(p, stacks_thread(p, 1, 1, "x"), profile_node(p, 0, l), 7);
	}
	d = compare_two(DIFF_SAMPLES, runs[0], runs[1]);
	CHECK_EQ(diff_self(d)->n, 1);
	CHECK(NEAR(find(d, diff_self(d), "inner")->count[1], 7, 0));
	CHECK(NEAR(find(d, diff_total(d), "outer")->count[1], 7, 0));
	diff_free(d);
}

/* Runs that are alike by chance vary no less than counts do: t of 4 degrees is 2.776445. */
TEST(alike_runs_have_the_noise_of_counts)
{
	struct profile *before[3], *after[3];
	const double reach[] = {
		[DIFF_SAMPLES] = sqrt(2 * 0.9 * 0.1 / 3000), [DIFF_NONE] = sqrt(2 * 0.9 / 3000)
	};

	for (size_t how = 0; how <= DIFF_NONE; how += DIFF_NONE) {
		const struct diff_row *hot;
		struct diff *d;

		for (size_t i = 0; i < 3; i++) {
			before[i] = simple(900, 1000, 1, 100);
			after[i] = simple(900, 1000, 1, 100);
		}
		d = compare((enum diff_normalize)how, (const size_t[]){ 3, 3 }, before, after);
		hot = find(d, diff_self(d), "hot");
		CHECK(NEAR(hot->high, 2.776445 * reach[how], 1e-7) &&
		      NEAR(hot->low, -hot->high, 1e-12));
		CHECK_EQ(hot->significant, 0);
		diff_free(d);
	}
}

/* --- Runs of a program of many functions, drawn at random. ------------------ */

#define FUNCTIONS 60

struct program {
	double share[FUNCTIONS];	/* of the time; adds up to 1 */
	/* standard deviation of the shares' logarithm, from run to run */
	double wander;
};

/* Few functions have most of the time, as in life. */
static void make_program(struct program *g, double wander)
{
	double sum = 0;

	g->wander = wander;
	for (int i = 0; i < FUNCTIONS; i++)
		sum += g->share[i] = 1.0 / (i + 2);
	for (int i = 0; i < FUNCTIONS; i++)
		g->share[i] /= sum;
}

static struct profile *run_program(const struct program *g, uint64_t samples, uint64_t *state)
{
	struct profile *p = profile_new();
	uint32_t t = stacks_thread(p, 1, 1, "app");
	double share[FUNCTIONS], left = 0;

	for (int i = 0; i < FUNCTIONS; i++)
		left += share[i] = g->share[i] * exp(g->wander * draw_normal(state));
	for (int i = 0; i < FUNCTIONS; i++) {
		uint64_t n = i + 1 < FUNCTIONS ? draw_binomial(state, samples, share[i] / left)
					       : samples;
		char name[32];

		snprintf(name, sizeof(name), "app!main|app!f%02d", i);
		stacks_add(p, t, name, n);
		samples -= n;
		left -= share[i];
	}
	return p;
}

static struct diff *compare_programs(const struct program *before, const struct program *after,
				     size_t nbefore, size_t nafter, uint64_t samples,
				     uint64_t *state)
{
	struct profile *runs[2][RUNS_MAX];

	for (size_t i = 0; i < nbefore; i++)
		runs[0][i] = run_program(before, samples, state);
	for (size_t i = 0; i < nafter; i++)
		runs[1][i] = run_program(after, samples, state);
	return compare(DIFF_SAMPLES, (const size_t[]){ nbefore, nafter }, runs[0], runs[1]);
}

/*
 * Of many comparisons of a program with itself, in per cent: functions with p < 0.05, and
 * comparisons that claim any change.
 */
static void try_equal(double wander, size_t runs, size_t trials, uint64_t seed, double *functions,
		      double *claims)
{
	uint64_t state = seed;
	struct program g;
	size_t low = 0, all = 0, claimed = 0;

	make_program(&g, wander);
	for (size_t i = 0; i < trials; i++) {
		struct diff *d = compare_programs(&g, &g, runs, runs, 3000, &state);
		const struct diff_list *l = diff_self(d);

		for (size_t k = 0; k < l->n; k++)
			low += l->rows[k].p < 0.05;
		all += l->n;
		claimed += l->significant > 0;
		diff_free(d);
	}
	*functions = 100.0 * (double)low / (double)all;
	*claims = 100.0 * (double)claimed / (double)trials;
}

TEST(a_program_is_like_itself)
{
	double functions, claims;

	try_equal(0, 1, 300, 1, &functions, &claims);
	CHECK(NEAR(functions, 5, 1));
	CHECK(claims <= 9);
	/*
	 * Counts' noise is the least that is taken, so chance alone is called a change less often,
	 * not more.
	 */
	try_equal(0, 5, 80, 2, &functions, &claims);
	CHECK(functions > 1 && functions < 6);
	CHECK(claims <= 9);
}

/* From run to run shares wander by a fifth: counts cannot know that, several runs do. */
TEST(restless_runs_do_not_deceive)
{
	double functions, claims;

	try_equal(0.2, 1, 40, 3, &functions, &claims);
	CHECK(functions > 15);
	try_equal(0.2, 5, 80, 4, &functions, &claims);
	CHECK(functions > 1 && functions < 6);
	CHECK(claims <= 9);
	try_equal(0.2, 2, 150, 5, &functions, &claims);
	CHECK(functions < 6);
	CHECK(claims <= 9);
}

/* One run against several borrows their spread. */
TEST(one_run_against_several)
{
	uint64_t state = 6;
	struct program g;
	size_t low = 0, all = 0;

	make_program(&g, 0.2);
	for (int i = 0; i < 80; i++) {
		struct diff *d = compare_programs(&g, &g, 1 + i % 2 * 5, 6 - i % 2 * 5, 3000,
						  &state);

		for (size_t k = 0; k < diff_self(d)->n; k++)
			low += diff_self(d)->rows[k].p < 0.05;
		all += diff_self(d)->n;
		diff_free(d);
	}
	CHECK((double)low < 0.065 * (double)all);
	CHECK((double)low > 0.01 * (double)all);
}

/* A function takes 2 % longer, and the shares of all others shrink a little. */
TEST(a_small_slowdown_is_found)
{
	enum { TRIALS = 20 };
	struct program before, after;
	uint64_t state = 7;
	int found = 0, covered = 0, first = 0;
	double change;

	make_program(&before, 0);
	make_program(&after, 0);
	after.share[0] *= 1.02;
	for (int i = 0; i < FUNCTIONS; i++)
		after.share[i] /= 1 + before.share[0] * 0.02;
	change = after.share[0] - before.share[0];
	for (int i = 0; i < TRIALS; i++) {
		struct diff *d = compare_programs(&before, &after, 12, 12, 200000, &state);
		const struct diff_row *r = find(d, diff_self(d), "f00");

		found += r->significant && diff_change(r) > 0;
		first += r == diff_self(d)->rows;
		covered += r->low <= change && change <= r->high;
		diff_free(d);
	}
	CHECK(found >= TRIALS - 1);
	CHECK(first >= TRIALS - 1);
	CHECK(covered >= TRIALS - 3);
}

/* Of ten functions, of which one became half as slow again. */
TEST(intervals_hold_the_change)
{
	enum { TRIALS = 300 };
	struct program before, after;
	uint64_t state = 8;
	size_t held = 0, found = 0;

	make_program(&before, 0);
	make_program(&after, 0);
	after.share[1] *= 1.5;
	for (int i = 0; i < FUNCTIONS; i++)
		after.share[i] /= 1 + before.share[1] / 2;
	for (int i = 0; i < TRIALS; i++) {
		struct diff *d = compare_programs(&before, &after, 1, 1, 3000, &state);

		for (int k = 0; k < 10; k++) {
			const char name[] = { 'f', '0', (char)('0' + k), '\0' };
			const struct diff_row *r = find(d, diff_self(d), name);

			held += r->low <= after.share[k] - before.share[k] &&
				after.share[k] - before.share[k] <= r->high;
		}
		found += (size_t)find(d, diff_self(d), "f01")->significant;
		diff_free(d);
	}
	CHECK(NEAR((double)held / TRIALS * 10, 95, 1));
	CHECK(found > TRIALS * 85 / 100);
}

/* A hundred thousand functions, and counts that no double holds. */
TEST(large_profiles_take_no_time)
{
	struct profile *runs[2];
	struct diff *d;

	for (int side = 0; side < 2; side++) {
		struct profile *p = runs[side] = profile_new();
		uint32_t t = stacks_thread(p, 1, 1, "x");

		for (uint32_t i = 0; i < 100000; i++) {
			uint32_t l = profile_location(p, 0, FRAME_USER, i + 1);
			char name[32];

			snprintf(name, sizeof(name), "f%u", i);
			profile_name_location(p, l,
					      &(struct line){ .function = profile_function(
								      p, profile_string(p, name), 0,
								      FRAME_USER) },
					      1, "");
			profile_add(p, t, profile_node(p, 0, l),
				    i < 99999 ? i % 7 + (uint64_t)side : UINT64_MAX / 2);
		}
	}
	d = compare_two(DIFF_SAMPLES, runs[0], runs[1]);
	CHECK_EQ(diff_self(d)->n, 100000);
	diff_free(d);
}

int main(void)
{
	RUN(rows_are_what_was_counted);
	RUN(rates_and_lengths_are_no_change);
	RUN(what_cannot_be_compared_is_an_error);
	RUN(values_are_counts_where_they_can_be);
	RUN(inlined_functions_are_rows);
	RUN(alike_runs_have_the_noise_of_counts);
	RUN(a_program_is_like_itself);
	RUN(restless_runs_do_not_deceive);
	RUN(one_run_against_several);
	RUN(a_small_slowdown_is_found);
	RUN(intervals_hold_the_change);
	RUN(large_profiles_take_no_time);
	return TEST_END();
}
