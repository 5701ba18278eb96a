/* SPDX-License-Identifier: MIT */
#include "unwind/rows.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "unit/test.h"

#define SPACE 100	/* addresses of the random lists */

/* Address by address: the last mapping in the list that holds it. */
static void check_sorted(const struct unwind_mapping *list, size_t n,
			 const struct unwind_mapping *got, size_t n_got)
{
	size_t at = 0;

	for (size_t i = 0; i < n_got; i++) {
		CHECK(got[i].start < got[i].end);
		CHECK(!i || got[i - 1].end <= got[i].start);
	}
	for (uint64_t a = 0; a < SPACE; a++) {
		const struct unwind_mapping *want = NULL;

		for (size_t i = 0; i < n; i++)
			if (a >= list[i].start && a < list[i].end)
				want = &list[i];
		while (at < n_got && got[at].end <= a)
			at++;
		if (!want || at == n_got || a < got[at].start) {
			CHECK(!want && (at == n_got || a < got[at].start));
			continue;
		}
		CHECK_EQ(got[at].image, want->image);
		CHECK_EQ(a - got[at].start + got[at].offset, a - want->start + want->offset);
	}
}

TEST(sorts_mappings)
{
	srand(3);
	for (int round = 0; round < 3000; round++) {
		struct unwind_mapping list[12], *got;
		size_t n = (size_t)rand() % 13, n_got;

		for (size_t i = 0; i < n; i++) {
			uint64_t start = (uint64_t)rand() % SPACE,
				 size = (uint64_t)rand() % (round % 2 ? 40 : 10);

			list[i] = (struct unwind_mapping){
				start, start + size < SPACE ? start + size : SPACE,
				(uint64_t)rand() % 1000, (uint32_t)i, 0
			};
		}
		n_got = unwind_rows_sort(list, n, &got);
		check_sorted(list, n, got, n_got);
		free(got);
	}
}

TEST(joins_rows)
{
	struct ebp_mapping rows[] = {
		{ 1, 2, 0, 5, 7 },
		{ 2, 3, 0, 5, 7 },
		{ 3, 4, 1, 5, 7 },
		{ 5, 6, 1, 5, 7 },
		{ 6, 7, 0, 0, EBP_IMAGE_NONE },
		{ 8, 9, 0, 0, EBP_IMAGE_NONE },
		{ 9, 10, 0, 0, EBP_IMAGE_NONE },
	};
	enum { MANY = 3 * EBP_ROWS_MAX };
	struct ebp_mapping *many = xcalloc(MANY, sizeof(*many));
	size_t n = unwind_rows_join(rows, 7);

	CHECK_EQ(n, 5);
	CHECK_EQ(rows[0].end, 3);
	CHECK_EQ(rows[4].start, 8);
	CHECK_EQ(rows[4].end, 10);
	/* Too many: JIT code first becomes one row. */
	for (uint64_t i = 0; i < MANY; i++)
		many[i] = (struct ebp_mapping){ 3 * i, 3 * i + 1 + (i % 2), 0, i < 9 ? 5 : 0,
						i < 9 ? 7 : EBP_IMAGE_NONE };
	CHECK_EQ(unwind_rows_join(many, MANY), 10);
	CHECK_EQ(many[9].end, 3 * (MANY - 1) + 2);
	/* Else the smallest go. */
	for (uint64_t i = 0; i < MANY; i++)
		many[i] = (struct ebp_mapping){ 3 * i, 3 * i + 1 + (i % 3 == 1), 0, 5, 7 };
	n = unwind_rows_join(many, MANY);
	CHECK_EQ(n, EBP_ROWS_MAX - 1);
	for (size_t i = 0; i < n; i++) {
		CHECK_EQ(many[i].end - many[i].start, 2);
		CHECK(!i || many[i - 1].end <= many[i].start);
	}
	free(many);
}

int main(void)
{
	RUN(sorts_mappings);
	RUN(joins_rows);
	return TEST_END();
}
