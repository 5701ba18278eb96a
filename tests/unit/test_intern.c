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
	struct interned ids = { 0 };

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
	interned_free(&ids);
}

TEST(what_is_known_to_be_new_is_not_compared)
{
	struct interned ids = { 0 };

	things[0] = things[1] = "a";
	compared = 0;
	intern_add(&ids, 7, 0);
	intern_add(&ids, 7, 1);
	CHECK_EQ(compared, 0);
	CHECK_EQ(ids.n, 2);
	CHECK_EQ(intern_find(&ids, 7, same, things, "a"), 0);
	interned_free(&ids);
}

static int same_number(const void *all, uint32_t id, const void *thing)
{
	return ((const uint32_t *)all)[id] == *(const uint32_t *)thing;
}

TEST(many_are_found_again)
{
	enum { MANY = 100000 };
	uint32_t *all = calloc(MANY, sizeof(*all));
	struct interned ids = { 0 };

	CHECK(all);
	for (uint32_t i = 0; i < MANY; i++) {
		/* two of each hash */
		CHECK_EQ(intern(&ids, i / 2, i, same_number, all, &i), i);
		all[i] = i;
	}
	for (uint32_t i = 0; i < MANY; i++)
		CHECK_EQ(intern_find(&ids, i / 2, same_number, all, &i), i);
	CHECK_EQ(ids.n, MANY);
	CHECK(interned_bytes(&ids) <= MANY * 8 * 8 / 3);
	interned_free(&ids);
	free(all);
}

int main(void)
{
	RUN(things_with_one_hash_are_told_apart);
	RUN(what_is_known_to_be_new_is_not_compared);
	RUN(many_are_found_again);
	return TEST_END();
}
