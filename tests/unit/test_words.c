/* SPDX-License-Identifier: MIT */
#include "profile/words.h"

#include "profile/profile.h"
#include "unit/test.h"

TEST(types_say_what_they_are)
{
	struct profile *p = profile_new();
	uint32_t cpu = profile_add_type(p, "cpu", "nanoseconds"),
		 inuse = profile_add_type(p, "inuse_space", "bytes"),
		 odd = profile_add_type(p, "apples", "baskets");
	const struct profile_type *t = profile_view(p).types;

	CHECK_EQ(t[0].words->role, PROFILE_SAMPLES);
	CHECK_EQ(t[0].measured_in, PROFILE_COUNT);
	CHECK_EQ(t[cpu].words->role, PROFILE_CPU_TIME);
	CHECK_EQ(t[cpu].words->measure, PROFILE_TIME);
	CHECK_EQ(t[cpu].measured_in, PROFILE_NANOSECONDS);
	CHECK_EQ(t[inuse].words->measure, PROFILE_LEVEL);
	CHECK_EQ(t[odd].words->role, PROFILE_PLAIN);
	CHECK_EQ(t[odd].words->measure, PROFILE_RATE);
	CHECK_EQ(t[odd].measured_in, PROFILE_OTHER_UNIT);
	CHECK_STR(t[odd].words->verb, "Sampled");
	profile_set_type(p, odd, "off-cpu", "microseconds");
	t = profile_view(p).types;
	CHECK_STR(t[odd].words->verb, "Waited");
	CHECK_EQ(t[odd].words->asked, 1);
	CHECK_EQ(t[odd].measured_in, PROFILE_MICROSECONDS);
	profile_free(p);
}

TEST(events_say_what_is_taken)
{
	static const struct {
		const char *event;
		int clock, asked;
		const char *many;
	} rows[] = {
		{ "cpu-clock", 1, 0, "samples" },	{ "cpu-clock:u", 1, 0, "samples" },
		{ "task-clock:ppp", 1, 0, "samples" },	{ "cycles", 0, 0, "samples" },
		{ "cycles:u", 0, 0, "samples" },	{ "cycles:ppp", 0, 0, "samples" },
		{ "off-cpu", 0, 1, "intervals" },	{ "page-faults", 0, 1, "samples" },
		{ "sched:sched_switch", 0, 1, "samples" }, { "", 0, 0, "samples" },
		{ "cs", 0, 1, "samples" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct profile_event_words *w = profile_event_words(rows[i].event);

		CHECK_EQ(w->clock, rows[i].clock);
		CHECK_EQ(w->asked, rows[i].asked);
		CHECK_STR(w->many, rows[i].many);
	}
}

int main(void)
{
	RUN(types_say_what_they_are);
	RUN(events_say_what_is_taken);
	return TEST_END();
}
