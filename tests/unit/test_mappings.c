/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdint.h>
#include <string.h>

#include "elf/image.h"
#include "proc/mappings.h"

static int image_at(const struct mappings *m, uint64_t address, uint64_t time)
{
	const struct mapping *found = mappings_find(m, address, time);

	return found ? (int)found->image : -1;
}

static void add(struct mappings **m, uint64_t start, uint64_t end, uint64_t from, uint32_t image)
{
	mappings_add(m,
		     &(struct mapping){ .start = start, .end = end, .from = from, .image = image });
}

TEST(nothing_is_nowhere)
{
	CHECK_EQ(image_at(NULL, 5, 5), -1);
	CHECK_EQ(mappings_count(NULL), 0);
	mappings_unref(NULL);
	CHECK(mappings_ref(NULL) == NULL);
}

TEST(edges)
{
	struct mappings *m = NULL;

	add(&m, 0x1000, 0x2000, 0, 1);
	add(&m, 0x2000, 0x3000, 0, 2);
	add(&m, 5, 5, 0, 9);
	add(&m, 6, 5, 0, 9);
	CHECK_EQ(mappings_count(m), 2);
	CHECK_EQ(image_at(m, 0xfff, 9), -1);
	CHECK_EQ(image_at(m, 0x1000, 9), 1);
	CHECK_EQ(image_at(m, 0x1fff, 9), 1);
	CHECK_EQ(image_at(m, 0x2000, 9), 2);
	CHECK_EQ(image_at(m, 0x3000, 9), -1);
	CHECK_EQ(image_at(m, 0, 9), -1);
	CHECK_EQ(image_at(m, UINT64_MAX, 9), -1);
	mappings_unref(m);
}

TEST(newer_covers_older_from_its_time_on)
{
	struct mappings *m = NULL;

	add(&m, 0x1000, 0x9000, 10, 1);
	add(&m, 0x3000, 0x4000, 20, 2);
	add(&m, 0x3800, 0x5000, 30, 3);
	CHECK_EQ(image_at(m, 0x3900, 15), 1);
	CHECK_EQ(image_at(m, 0x3900, 25), 2);
	CHECK_EQ(image_at(m, 0x3900, 30), 3);
	CHECK_EQ(image_at(m, 0x3100, 99), 2);
	CHECK_EQ(image_at(m, 0x4100, 25), 1);
	CHECK_EQ(image_at(m, 0x8fff, 99), 1);
	/* Before all: the first that came. */
	CHECK_EQ(image_at(m, 0x3900, 5), 1);
	mappings_unref(m);
}

#define PAINTED 250

/* In @ctx, what each() leaves at each address, the later call covering the earlier. */
static void paint(void *ctx, const struct mapping *m)
{
	int *images = ctx;

	for (uint64_t at = m->start; at < m->end && at < PAINTED; at++)
		images[at] = (int)m->image;
}

/*
 * Random overlapping mappings, in the sorted part and in the tail: each() and find() agree
 * everywhere.
 */
TEST(each_says_what_find_says)
{
	struct mappings *m = NULL;
	unsigned seed = 1;

	mappings_each(NULL, 0, paint, NULL);
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t start = (uint64_t)rand_r(&seed) % 200,
			 size = 1 + (uint64_t)rand_r(&seed) % 40;

		add(&m, start, start + size, 2 * (uint64_t)i, i);
		if (i % 20)
			continue;
		for (uint64_t time = 0; time < 2 * i + 4; time += 7) {
			int images[PAINTED];

			memset(images, -1, sizeof(images));
			mappings_each(m, time, paint, images);
			for (uint64_t at = 0; at < PAINTED; at++)
				CHECK_EQ(images[at], image_at(m, at, time));
		}
	}
	mappings_unref(m);
}

TEST(the_same_again_adds_nothing)
{
	struct mappings *m = NULL;

	for (uint64_t t = 0; t < 1000; t++)
		add(&m, 0x1000, 0x2000, t, 1);
	CHECK_EQ(mappings_count(m), 1);
	/* Anonymous memory that grows, as a JIT's does. */
	for (uint64_t t = 0; t < 1000; t++)
		add(&m, 0x10000, 0x11000 + t * 0x1000, t, IMAGE_NONE);
	CHECK(mappings_count(m) < 200);
	CHECK_EQ(image_at(m, 0x11000 + 998 * 0x1000, 2000), (int)IMAGE_NONE);
	mappings_unref(m);
}

TEST(history_of_one_place_is_bounded)
{
	struct mappings *m = NULL;

	for (uint32_t t = 1; t <= 10000; t++)
		add(&m, 0x1000, 0x2000, t, t);
	CHECK(mappings_count(m) < 200);
	CHECK_EQ(image_at(m, 0x1000, UINT64_MAX), 10000);
	CHECK_EQ(image_at(m, 0x1000, 9999), 9999);
	mappings_unref(m);
	m = NULL;
	/* Two that take turns: the older of equal ones still says when. */
	for (uint32_t t = 1; t <= 1001; t++)
		add(&m, 0x1000, 0x2000, t * 10, t % 2);
	CHECK_EQ(image_at(m, 0x1000, 10001), 0);
	CHECK_EQ(image_at(m, 0x1000, 10010), 1);
	mappings_unref(m);
}

TEST(all_together_are_bounded)
{
	struct mappings *m = NULL;

	for (uint64_t t = 1; t <= 300000; t++)
		add(&m, t << 12, (t + 1) << 12, t, (uint32_t)t);
	CHECK(mappings_count(m) <= 131072 + 200);
	CHECK_EQ(image_at(m, 300000u << 12, UINT64_MAX), 300000);
	mappings_unref(m);
}

/* Down the address space, as mmap goes, and interleaved: each is found. */
TEST(many_in_any_order)
{
	enum { N = 50000 };
	struct mappings *m = NULL;
	int wrong = 0;

	for (uint32_t i = 0; i < N; i++) {
		uint64_t place = (i * 7919u) % N;

		add(&m, place << 13, (place << 13) + 4096, i, (uint32_t)place);
	}
	CHECK_EQ(mappings_count(m), N);
	for (uint32_t i = 0; i < N; i++) {
		uint64_t end = ((uint64_t)i << 13) + 4096;

		wrong += image_at(m, end - 1, UINT64_MAX) != (int)i || image_at(m, end, 5) != -1;
	}
	CHECK_EQ(wrong, 0);
	mappings_unref(m);
}

/* Ranges of any size over each other: the newest at each place. */
TEST(newest_of_any)
{
	enum { PAGES = 400, N = 3000 };
	int newest[PAGES], wrong = 0;
	struct mappings *m = NULL;
	uint32_t random = 1;

	memset(newest, -1, sizeof(newest));
	for (uint32_t t = 1; t <= N; t++) {
		uint32_t start, end;

		random = random * 1664525 + 1013904223;
		start = (random >> 8) % PAGES;
		end = start + 1 + (random >> 20) % (t % 3 ? 4 : PAGES);
		if (end > PAGES)
			end = PAGES;
		add(&m, (uint64_t)start << 12, (uint64_t)end << 12, t, t);
		for (uint32_t i = start; i < end; i++)
			newest[i] = (int)t;
		for (uint32_t i = 0; t % 50 == 0 && i < PAGES; i++)
			wrong += image_at(m, (uint64_t)i << 12, UINT64_MAX) != newest[i];
	}
	CHECK_EQ(wrong, 0);
	CHECK(mappings_count(m) < N);
	mappings_unref(m);
}

TEST(copy_on_write)
{
	struct mappings *parent = NULL, *child;

	add(&parent, 0x1000, 0x2000, 0, 1);
	child = mappings_ref(parent);
	CHECK(child == parent);
	add(&child, 0x1000, 0x2000, 5, 2);
	CHECK(child != parent);
	CHECK_EQ(image_at(parent, 0x1000, 9), 1);
	CHECK_EQ(image_at(child, 0x1000, 9), 2);
	add(&parent, 0x5000, 0x6000, 5, 3);
	CHECK_EQ(image_at(child, 0x5000, 9), -1);
	/* The same again is no change: nothing is copied. */
	mappings_unref(child);
	child = mappings_ref(parent);
	add(&child, 0x5000, 0x6000, 7, 3);
	CHECK(child == parent);
	mappings_unref(child);
	mappings_unref(parent);
}

TEST(snapshot_under_events)
{
	struct mapping list[] = {
		{ .start = 0x1000, .end = 0x2000, .image = 1 },		/* as the event said */
		/* the event's place, but another file */
		{ .start = 0x3000, .end = 0x4000, .image = 7 },
		{ .start = 0x5000, .end = 0x6000, .image = 3 },		/* no event */
	};
	struct mappings *m = NULL;

	add(&m, 0x1000, 0x2000, 50, 1);
	add(&m, 0x3000, 0x4000, 50, 2);
	mappings_add_snapshot(&m, list, 3, 100);
	CHECK_EQ(image_at(m, 0x1800, 60), 1);
	CHECK_EQ(image_at(m, 0x3800, 60), 2);
	CHECK_EQ(image_at(m, 0x3800, 100), 7);
	CHECK_EQ(image_at(m, 0x5800, 1), 3);
	CHECK_EQ(mappings_count(m), 4);
	mappings_add_snapshot(&m, list, 3, 200);
	CHECK_EQ(mappings_count(m), 4);
	mappings_unref(m);
}

TEST(large_snapshot)
{
	enum { N = 100000 };
	struct mapping *list = calloc(N, sizeof(*list));
	struct mappings *m = NULL;

	for (uint64_t i = 0; i < N; i++)
		list[i] = (struct mapping){ .start = i << 13,
					    .end = (i << 13) + 4096,
					    .image = (uint32_t)i };
	mappings_add_snapshot(&m, list, N, 5);
	CHECK_EQ(mappings_count(m), N);
	CHECK_EQ(image_at(m, 77777ull << 13, 1), 77777);
	mappings_add_snapshot(&m, list, N, 6);
	CHECK_EQ(mappings_count(m), N);
	mappings_unref(m);
	free(list);
}

TEST(inheritance)
{
	struct mappings *parent = NULL, *child = NULL;

	add(&parent, 0x1000, 0x2000, 0, 1);
	add(&parent, 0x3000, 0x4000, 50, 2);
	add(&child, 0x1000, 0x1800, 30, 5);
	mappings_add_inherited(&child, parent, 20);
	CHECK_EQ(image_at(child, 0x1000, 25), 1);
	CHECK_EQ(image_at(child, 0x1000, 35), 5);
	CHECK_EQ(image_at(child, 0x1900, 35), 1);
	CHECK_EQ(image_at(child, 0x3000, 99), -1);
	mappings_add_inherited(&child, NULL, 20);
	mappings_add_inherited(&child, child, 20);
	CHECK_EQ(mappings_count(child), 2);
	mappings_unref(parent);
	mappings_unref(child);
}

int main(void)
{
	RUN(nothing_is_nowhere);
	RUN(edges);
	RUN(newer_covers_older_from_its_time_on);
	RUN(each_says_what_find_says);
	RUN(the_same_again_adds_nothing);
	RUN(history_of_one_place_is_bounded);
	RUN(all_together_are_bounded);
	RUN(many_in_any_order);
	RUN(newest_of_any);
	RUN(copy_on_write);
	RUN(snapshot_under_events);
	RUN(large_snapshot);
	RUN(inheritance);
	return TEST_END();
}
