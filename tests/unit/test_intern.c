/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include "unit/test.h"

static const char *things[8];
static unsigned compared;

static int same(const void *all, uint32_t id, const void *thing)
{
	compared++;
	return !strcmp(((const char *const *)all)[id], thing);
}

TEST(things_with_one_hash_are_told_apart)
{
	static const char *const names[] = { "a", "b", "c" };
	struct hashmap ids = { 0 };

	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(intern_find(&ids, 7, same, things, names[i]), HASHMAP_NONE);
		CHECK_EQ(intern(&ids, 7, i, same, things, names[i]), i);
		things[i] = names[i];
	}
	for (uint32_t i = 0; i < 3; i++) {
		CHECK_EQ(intern(&ids, 7, 3, same, things, names[i]), i);
		CHECK_EQ(intern_find(&ids, 7, same, things, names[i]), i);
	}
	CHECK_EQ(ids.n, 3);
	hashmap_free(&ids);
}

TEST(what_is_known_to_be_new_is_not_compared)
{
	struct hashmap ids = { 0 };

	things[0] = things[1] = "a";
	compared = 0;
	intern_add(&ids, 7, 0);
	intern_add(&ids, 7, 1);
	CHECK_EQ(compared, 0);
	CHECK_EQ(ids.n, 2);
	CHECK_EQ(intern_find(&ids, 7, same, things, "a"), 0);
	hashmap_free(&ids);
}

TEST(a_thing_is_not_its_hash_s_neighbour)
{
	struct hashmap ids = { 0 };

	things[0] = "a";
	things[1] = "b";
	CHECK_EQ(intern(&ids, 7, 0, same, things, "a"), 0);
	CHECK_EQ(intern(&ids, 8, 1, same, things, "b"), 1);
	CHECK_EQ(intern(&ids, 7, 2, same, things, "c"), 2);
	things[2] = "c";
	CHECK_EQ(intern_find(&ids, 7, same, things, "c"), 2);
	CHECK_EQ(intern_find(&ids, 8, same, things, "c"), 2);
	CHECK_EQ(intern_find(&ids, 8, same, things, "a"), HASHMAP_NONE);
	hashmap_free(&ids);
}

int main(void)
{
	RUN(things_with_one_hash_are_told_apart);
	RUN(what_is_known_to_be_new_is_not_compared);
	RUN(a_thing_is_not_its_hash_s_neighbour);
	return TEST_END();
}
