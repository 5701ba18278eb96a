/* SPDX-License-Identifier: MIT */
/* Times of samples: packed and unpacked, what belongs to which, and parts of a recording. */
#include <errno.h>
#include <stdlib.h>

#include "profile/between.h"
#include "profile/timeline.h"
#include "profile/worth.h"
#include "unit/test.h"

#define MS 1000000ull
#define SECOND (1000 * MS)

struct list { struct tick v[4096]; size_t n; };

static int take(void *ctx, const struct tick *t)
{
	struct list *l = ctx;

	l->v[l->n++] = *t;
	return l->n < sizeof(l->v) / sizeof(*l->v);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Each stream's come back in their order, so those of one CPU and sort do. */
static void comes_back(const struct tick *ticks, size_t n, const struct list *got)
{
	CHECK_EQ(got->n, n);
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < got->n && memcmp(&got->v[k], &ticks[i], sizeof(*ticks)))
			k++;
		CHECK(k < got->n);
	}
}

TEST(what_was_packed_comes_back)
{
	static struct tick ticks[2000];
	static struct list got, again;
	struct timeline *t = timeline_new(1000, 5000);
	struct protobuf b = { 0 };
	struct cursor c;
	uint64_t random = 1;

	timeline_expect(t, 99);
	for (size_t i = 0; i < 2000; i++) {
		struct tick *tick = &ticks[i];

		tick->time = (uint64_t)i * 5050000 + next(&random) % 50 * 1000;
		tick->sample = (uint32_t)(next(&random) % 300 * (next(&random) % 2000));
		tick->cpu = (uint32_t)(next(&random) % 3 * 7);
		tick->span = i % 3 ? 0 : 1000 * (1 + next(&random) % 5000000);
		tick->value = tick->span ? tick->span : i % 5 ? 1 : next(&random);
		CHECK(timeline_add(t, tick));
	}
	timeline_each(t, take, &got);
	comes_back(ticks, 2000, &got);
	timeline_write(t, &b);
	c = (struct cursor){ .p = b.v, .end = b.v + b.n };
	timeline_read(&c, take, &again);
	CHECK(!c.bad);
	comes_back(ticks, 2000, &again);
	protobuf_free(&b);
	timeline_free(t);
}

TEST(what_is_below_a_unit_or_above_all_is_cut)
{
	struct timeline *t = timeline_new(1000, 10);
	static struct list got;

	CHECK(timeline_add(t, &(struct tick){ .time = 5999, .value = 1 }));
	CHECK(timeline_add(t, &(struct tick){ .time = 5999, .span = 1002, .value = 1002 }));
	CHECK(!timeline_add(t, &(struct tick){ .time = 5100, .span = 800, .value = 800 }));
	CHECK(!timeline_add(t, &(struct tick){ .time = 1ull << 63, .value = 1 }));
	CHECK(!timeline_add(t, &(struct tick){ .time = 1, .span = INT64_MAX, .value = INT64_MAX }));
	CHECK(!timeline_add(t, &(struct tick){ .value = 1, .cpu = TIMELINE_CPUS }));
	timeline_each(t, take, &got);
	CHECK_EQ(got.n, 2);
	CHECK_EQ(got.v[0].time, 5000);
	CHECK_EQ(got.v[1].time, 5000);
	CHECK_EQ(got.v[1].span, 2000);
	CHECK_EQ(got.v[1].value, 2000);
	timeline_free(t);
}

TEST(there_is_an_end_of_it)
{
	struct timeline *t = timeline_new(1000, 3);
	struct tick tick = { .value = 1 };

	for (tick.time = 0; tick.time < 5000; tick.time += 1000)
		CHECK_EQ(timeline_add(t, &tick), tick.time < 3000);
	CHECK(timeline_full(t));
	CHECK_EQ(timeline_ticks(t), 3);
	CHECK_EQ(timeline_refused(t), 2);
	timeline_free(t);
}

TEST(samples_get_other_numbers)
{
	static const uint32_t now[] = { 2, 0, 1 };
	struct timeline *t = timeline_new(1000, 10);
	static struct list got;

	for (uint32_t i = 0; i < 3; i++)
		timeline_add(t, &(struct tick){ .time = i * 1000, .value = 1, .sample = i });
	timeline_renumber(t, now);
	timeline_each(t, take, &got);
	CHECK_EQ(got.n, 3);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(got.v[i].time, i * 1000);
		CHECK_EQ(got.v[i].sample, now[i]);
	}
	timeline_free(t);
}

/* As of a clock at 99 Hz on two CPUs that are busy with some hundred stacks. */
TEST(a_sample_takes_four_bytes_at_most)
{
	struct timeline *t = timeline_new(1000, 1000000);
	struct protobuf b = { 0 };
	uint64_t random = 1;

	timeline_expect(t, 99);
	for (uint32_t i = 0; i < 100000; i++)
		CHECK(timeline_add(t, &(struct tick){
			.time = i / 2 * 10101010ull + next(&random) % 60000, .cpu = i % 2,
			.value = 1,
			.sample = (uint32_t)(next(&random) % 30 * (next(&random) % 100)) }));
	CHECK(timeline_bytes(t) <= 4 * 100000);
	timeline_write(t, &b);
	CHECK(b.n <= 3 * 100000);
	protobuf_free(&b);
	timeline_free(t);
}

/* Two samples; a third one has no ticks. Values: waits, and their time. */
static struct profile *waits(void)
{
	struct profile *p = profile_new();
	uint32_t thread = profile_thread(p, profile_process(p, 1, 0, 0), 1, 0), time, s[3];

	profile_set_type(p, 0, "waits", "count");
	time = profile_add_type(p, "off-cpu", "nanoseconds");
	for (uint32_t i = 0; i < 3; i++) {
		s[i] = profile_sample(p, thread,
				      profile_node(p, 0, profile_location(p, 0, FRAME_USER, i + 1)),
				      0);
		profile_count(p, s[i], 0, 2);
		profile_count(p, s[i], time, 3 * SECOND);
	}
	profile_tick(p, &(struct tick){ .time = 2 * SECOND, .span = SECOND, .value = SECOND,
					.sample = s[0] });
	profile_tick(p, &(struct tick){ .time = 0, .span = 2 * SECOND, .value = 2 * SECOND,
					.sample = s[0] });
	/* What belongs to the second is a third more than its ticks are. */
	profile_tick(p, &(struct tick){ .time = SECOND, .span = 2 * SECOND, .value = 2 * SECOND,
					.sample = s[1] });
	profile_finish_ticks(p);
	profile_meta(p)->duration = 4 * SECOND;
	return p;
}

TEST(values_are_divided_among_ticks)
{
	struct profile *p = waits();
	struct profile_view v = profile_view(p);
	struct worth time = worth_of(p, 1), number = worth_of(p, 0);

	CHECK_EQ(worth_tick(&time, &v.ticks[0]), 2 * SECOND);
	CHECK_EQ(worth_tick(&number, &v.ticks[0]), 1);
	CHECK_EQ(worth_tick(&time, &v.ticks[1]), 3 * SECOND);
	CHECK_EQ(worth_tick(&number, &v.ticks[1]), 2);
	CHECK_EQ(worth_between(&time, &v.ticks[0], SECOND / 2, SECOND), SECOND / 2);
	CHECK_EQ(worth_between(&time, &v.ticks[0], 3 * SECOND, 4 * SECOND), 0);
	CHECK_EQ(worth_between(&number, &v.ticks[0], 0, SECOND), 1);
	CHECK_EQ(worth_between(&number, &v.ticks[0], SECOND, 2 * SECOND), 0);
	CHECK_EQ(worth_untimed(&time, 0), 0);
	CHECK_EQ(worth_untimed(&time, 2), 3 * SECOND);
	CHECK(worth_any(p, 0) && worth_any(p, 1));
	worth_free(&time);
	worth_free(&number);
	profile_free(p);
}

/* Ten samples, of which four have times. */
TEST(what_has_no_time_is_left_over)
{
	struct profile *p = profile_new();
	uint32_t thread = profile_thread(p, profile_process(p, 1, 0, 0), 1, 0), cpu;
	struct worth w;

	profile_add(p, thread, 0, 10);
	cpu = profile_derive(p, 0, "cpu", "nanoseconds", 1000);
	for (uint64_t i = 0; i < 4; i++)
		profile_tick(p, &(struct tick){ .time = i * SECOND, .value = 1 });
	w = worth_of(p, cpu);
	CHECK_EQ(worth_tick(&w, &profile_view(p).ticks[0]), 1000);
	CHECK_EQ(worth_untimed(&w, 0), 6000);
	worth_free(&w);
	CHECK_EQ(profile_between(p, SECOND, 3 * SECOND), 0);
	CHECK_EQ(profile_values(p, 0)[0], 2);
	CHECK_EQ(profile_values(p, cpu)[0], 2000);
	profile_free(p);
}

TEST(a_part_of_a_wait_counts_by_its_part)
{
	struct profile *p = waits();
	struct profile_view v;

	CHECK_EQ(profile_between(p, SECOND + SECOND / 2, 2 * SECOND + SECOND / 4), 0);
	v = profile_view(p);
	CHECK_EQ(v.meta->duration, 3 * SECOND / 4);
	/* Of the first 0.5 s and 0.25 s of two waits, of the other 0.75 of 2 s. */
	CHECK_EQ(profile_values(p, 1)[0], 3 * SECOND / 4);
	CHECK_EQ(profile_values(p, 0)[0], 2);
	CHECK_EQ(profile_values(p, 1)[1], 9 * SECOND / 8);
	CHECK_EQ(profile_values(p, 0)[1], 2);
	CHECK_EQ(profile_values(p, 1)[2], 0);
	CHECK_EQ(v.nticks, 3);
	CHECK_EQ(v.ticks[0].time, 3 * SECOND / 2);
	CHECK_EQ(v.ticks[0].span, SECOND / 2);
	CHECK_EQ(v.ticks[2].time, 2 * SECOND);
	CHECK_EQ(v.ticks[2].span, SECOND / 4);
	profile_free(p);
	p = profile_new();
	CHECK_EQ(profile_between(p, 0, 1), -ENODATA);
	profile_free(p);
}

int main(void)
{
	RUN(what_was_packed_comes_back);
	RUN(what_is_below_a_unit_or_above_all_is_cut);
	RUN(there_is_an_end_of_it);
	RUN(samples_get_other_numbers);
	RUN(a_sample_takes_four_bytes_at_most);
	RUN(values_are_divided_among_ticks);
	RUN(what_has_no_time_is_left_over);
	RUN(a_part_of_a_wait_counts_by_its_part);
	return TEST_END();
}
