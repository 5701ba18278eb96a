/* SPDX-License-Identifier: MIT */
/*
 * Allocations while they are looked at: the profile is brought up to date again and again, and
 * counts nothing twice.
 */
#include "unit/test.h"

#include "alloc/alloc_profile.h"
#include "unit/stacks.h"

#define FIRST 1		/* of our types: another source has those before */

static void add_types(struct profile *p)
{
	for (int i = 0; i < ALLOC_TYPES; i++)
		profile_add_type(p, alloc_types[i].name, alloc_types[i].unit);
}

static uint32_t site_of(void *ctx, const struct ebp_key *key, uint64_t time)
{
	struct profile *p = ctx;
	uint32_t thread = stacks_thread(p, 1, 1, "x"),
		 string = profile_string(p, key->user_id ? "b" : "a");
	uint32_t location = profile_location(p, 0, FRAME_MARK, string);

	(void)time;
	return profile_sample(p, thread, profile_node(p, 0, location), 0);
}

static void allocate(struct alloc *a, uint64_t site, uint64_t id, uint64_t size, uint64_t time)
{
	const struct ebp_allocation b = { .time = time,
					  .id = id,
					  .size = size,
					  .key = { .user_id = site, .process = { .tgid = 1 } } };

	alloc_block(a, &b);
}

static void release(struct alloc *a, uint64_t id, uint64_t time)
{
	const struct ebp_allocation_end end = { .time = time, .id = id, .process = { .tgid = 1 } };

	alloc_freed(a, &end);
}

/* Of both places, and of the profile. */
static void check(const struct profile *p, enum alloc_type type, uint64_t first, uint64_t second)
{
	const uint64_t *values = profile_values(p, FIRST + type);

	CHECK_EQ(values[0], first);
	if (second)
		CHECK_EQ(values[1], second);
	CHECK_EQ(profile_view(p).types[FIRST + type].total, first + second);
}

TEST(again_and_again)
{
	struct profile *p = profile_new();
	struct alloc *a;

	add_types(p);
	a = alloc_new(&(struct alloc_options){ .site = site_of, .ctx = p });
	alloc_profile_update(p, FIRST, ALLOC_TYPES, a);
	CHECK_EQ(profile_view(p).nsamples, 0);
	allocate(a, 0, 1, 100, 10);
	profile_count(p, site_of(p, &(struct ebp_key){ 0 }, 10), 0, 7);
	for (int i = 0; i < 3; i++)
		alloc_profile_update(p, FIRST, ALLOC_TYPES, a);
	check(p, ALLOC_SPACE, 100, 0);
	check(p, INUSE_SPACE, 100, 0);
	check(p, PEAK_SPACE, 100, 0);
	check(p, LIFETIME, 0, 0);
	allocate(a, 1, 2, 30, 20);
	release(a, 1, 25);
	alloc_profile_update(p, FIRST, ALLOC_TYPES, a);
	check(p, ALLOC_SPACE, 100, 30);
	check(p, INUSE_OBJECTS, 0, 1);
	check(p, INUSE_SPACE, 0, 30);
	check(p, PEAK_SPACE, 100, 30);
	check(p, MAX_OBJECTS, 1, 1);
	check(p, LIFETIME, 15, 0);
	/* A place that changed after the peak still has what it had then. */
	release(a, 2, 30);
	allocate(a, 0, 3, 7, 40);
	alloc_profile_update(p, FIRST, ALLOC_TYPES, a);
	check(p, PEAK_SPACE, 100, 30);
	check(p, INUSE_SPACE, 7, 0);
	alloc_profile_finish(p, FIRST, a, 50);
	check(p, ALLOC_SPACE, 107, 30);
	check(p, INUSE_SPACE, 7, 0);
	check(p, LIFETIME, 15 + 10, 10);
	/* What another source counted there stays. */
	CHECK_EQ(profile_values(p, 0)[0], 7);
	alloc_free(a);
	profile_free(p);
}

/* What has ended with its process was not freed: in use, as the recording says at its end. */
TEST(a_process_that_ends)
{
	struct profile *p = profile_new();
	const struct ebp_allocation_end gone = { .time = 20, .process = { .tgid = 1 } };
	struct alloc *a;

	add_types(p);
	a = alloc_new(&(struct alloc_options){ .site = site_of, .ctx = p });
	allocate(a, 0, 1, 100, 10);
	alloc_gone(a, &gone);
	alloc_profile_update(p, FIRST, ALLOC_TYPES, a);
	check(p, INUSE_SPACE, 100, 0);
	alloc_profile_finish(p, FIRST, a, 50);
	check(p, INUSE_SPACE, 100, 0);
	alloc_free(a);
	profile_free(p);
}

/* Where windows are asked for, it is not in use any more. */
TEST(alive_alone)
{
	struct profile *p = profile_new();
	const struct ebp_allocation_end gone = { .time = 20, .process = { .tgid = 1 } };
	struct alloc *a;

	add_types(p);
	a = alloc_new(&(struct alloc_options){ .site = site_of, .ctx = p, .alive = 1 });
	allocate(a, 0, 1, 100, 10);
	alloc_profile_update(p, FIRST, PEAK_OBJECTS, a);
	check(p, INUSE_SPACE, 100, 0);
	check(p, PEAK_SPACE, 0, 0);
	alloc_gone(a, &gone);
	alloc_profile_update(p, FIRST, PEAK_OBJECTS, a);
	check(p, ALLOC_SPACE, 100, 0);
	check(p, INUSE_SPACE, 0, 0);
	alloc_free(a);
	profile_free(p);
}

TEST(levels)
{
	struct profile *p = profile_new();
	static const char level[ALLOC_TYPES] = {
		[INUSE_OBJECTS] = 1, [INUSE_SPACE] = 1, [PEAK_OBJECTS] = 1,
		[PEAK_SPACE] = 1,    [MAX_OBJECTS] = 1, [MAX_SPACE] = 1,
	};

	add_types(p);
	CHECK_EQ(profile_view(p).ntypes, FIRST + ALLOC_TYPES);
	for (int i = 0; i < ALLOC_TYPES; i++)
		CHECK_EQ(profile_view(p).types[FIRST + i].words->measure == PROFILE_LEVEL,
			 level[i]);
	profile_free(p);
}

int main(void)
{
	RUN(again_and_again);
	RUN(a_process_that_ends);
	RUN(alive_alone);
	RUN(levels);
	return TEST_END();
}
