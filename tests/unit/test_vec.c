/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/vec.h"

TEST(grows_and_keeps_order)
{
	VEC(int) v = { 0 };

	for (int i = 0; i < 100000; i++)
		vec_push(&v, i);
	CHECK_EQ(v.n, 100000);
	CHECK(v.cap >= v.n);
	for (int i = 0; i < 100000; i++)
		if (v.v[i] != i)
			CHECK_EQ(v.v[i], i);
	vec_free(&v);
	CHECK(!v.v && !v.n && !v.cap);
}

TEST(is_usable_after_free)
{
	VEC(const char *) v = { 0 };

	vec_free(&v);
	vec_push(&v, "a");
	vec_free(&v);
	vec_push(&v, "b");
	CHECK_EQ(v.n, 1);
	CHECK_STR(v.v[0], "b");
	vec_free(&v);
}

TEST(takes_structures_with_commas)
{
	struct pair { int a, b; };
	VEC(struct pair) v = { 0 };

	vec_push(&v, (struct pair){ .a = 1, .b = 2 });
	CHECK_EQ(v.v[0].a, 1);
	CHECK_EQ(v.v[0].b, 2);
	vec_free(&v);
}

/* At every size, so also just where the array moves. */
TEST(pushes_its_own_element)
{
	VEC(int) v = { 0 };

	vec_push(&v, 7);
	for (int i = 0; i < 1000; i++)
		vec_push(&v, v.v[v.n - 1]);
	for (size_t i = 0; i < v.n; i++)
		if (v.v[i] != 7)
			CHECK_EQ(v.v[i], 7);
	vec_free(&v);
}

TEST(pushes_its_own_length)
{
	VEC(size_t) v = { 0 };

	for (int i = 0; i < 100; i++)
		vec_push(&v, v.n);
	for (size_t i = 0; i < v.n; i++)
		if (v.v[i] != i)
			CHECK_EQ(v.v[i], i);
	vec_free(&v);
}

TEST(reserves_once)
{
	VEC(char) v = { 0 };
	const char *before;

	vec_reserve(&v, 1000);
	CHECK(v.cap >= 1000);
	CHECK_EQ(v.n, 0);
	before = v.v;
	for (int i = 0; i < 1000; i++)
		vec_push(&v, 'x');
	CHECK(v.v == before);
	vec_reserve(&v, 1);
	CHECK(v.v == before);
	vec_free(&v);
}

int main(void)
{
	RUN(grows_and_keeps_order);
	RUN(is_usable_after_free);
	RUN(takes_structures_with_commas);
	RUN(pushes_its_own_element);
	RUN(pushes_its_own_length);
	RUN(reserves_once);
	return TEST_END();
}
