/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "profile/merge.h"
#include "profile/rates.h"
#include "unit/stacks.h"

/* @samples of one stack. */
static struct profile *run(const char *event, uint64_t frequency, uint64_t period, uint64_t samples)
{
	struct profile *p = profile_new();

	snprintf(profile_meta(p)->event, sizeof(profile_meta(p)->event), "%s", event);
	profile_meta(p)->frequency = frequency;
	profile_meta(p)->period = period;
	stacks_add(p, stacks_thread(p, 1, 1, "x"), "main", samples);
	return p;
}

/*
 * What the two together show: "TYPE UNIT TOTAL", or "samples count N" with the verdict behind it.
 */
static void check_pair(struct profile *a, struct profile *b, enum rates_weight weight,
		       const char *expected)
{
	struct profile *both[] = { a, b }, *all = profile_new();
	struct rates rates = { 0 };
	struct profile_view v;
	char text[128];

	for (int i = 0; i < 2; i++) {
		rates_add(&rates, both[i]);
		profile_merge_run(all, both[i]);
		profile_free(both[i]);
	}
	CHECK_EQ(rates_show(&rates, all), weight);
	v = profile_view(all);
	snprintf(text, sizeof(text), "%s %s %llu", profile_text(all, v.types[v.shown].name),
		 profile_text(all, v.types[v.shown].unit), (unsigned long long)v.total);
	CHECK_STR(text, expected);
	profile_free(all);
}

TEST(equal_rates_are_added)
{
	check_pair(run("cycles", 99, 0, 3), run("cycles", 99, 0, 4), RATES_EQUAL,
		   "samples count 7");
	check_pair(run("cycles", 0, 500, 3), run("cycles", 0, 500, 4), RATES_EQUAL,
		   "samples count 7");
	check_pair(run("", 0, 0, 3), run("", 0, 0, 4), RATES_EQUAL, "samples count 7");
}

TEST(rates_are_time)
{
	check_pair(run("cycles", 100, 0, 3), run("cycles", 1000, 0, 4), RATES_TIME,
		   "cpu nanoseconds 34000000");
	check_pair(run("cpu-clock", 100, 0, 3), run("cpu-clock", 0, 1000000, 4), RATES_TIME,
		   "cpu nanoseconds 34000000");
	check_pair(run("cpu-clock", 0, 1000, 3), run("cpu-clock", 0, 10, 4), RATES_TIME,
		   "cpu nanoseconds 3040");
}

TEST(periods_are_events)
{
	check_pair(run("cycles", 0, 500, 3), run("cycles", 0, 1000, 4), RATES_EVENTS,
		   "cycles events 5500");
}

TEST(what_cannot_be_compared)
{
	check_pair(run("cycles", 0, 500, 3), run("faults", 0, 1000, 4), RATES_UNKNOWN,
		   "samples count 7");
	check_pair(run("cycles", 0, 500, 3), run("cycles", 99, 0, 4), RATES_UNKNOWN,
		   "samples count 7");
	check_pair(run("cycles", 99, 0, 3), run("", 0, 0, 4), RATES_UNKNOWN, "samples count 7");
	/* More often than once a nanosecond. */
	check_pair(run("cycles", UINT64_MAX, 0, 3), run("cycles", 99, 0, 4), RATES_UNKNOWN,
		   "samples count 7");
}

/* The values of other types are what they are. */
TEST(other_types_are_left_alone)
{
	struct profile *a = run("malloc", 99, 0, 3), *b = run("malloc", 999, 0, 4);

	profile_set_type(a, 0, "alloc_space", "bytes");
	profile_set_type(b, 0, "alloc_space", "bytes");
	check_pair(a, b, RATES_EQUAL, "alloc_space bytes 7");
}

int main(void)
{
	RUN(equal_rates_are_added);
	RUN(rates_are_time);
	RUN(periods_are_events);
	RUN(what_cannot_be_compared);
	RUN(other_types_are_left_alone);
	return TEST_END();
}
