/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/row_order.h"

#define ROWS 5000

static const struct row none = { .name = "", .module = "", .file = "", .owner = "", .asker = "" };

/* Texts that have much in common, end in each other, are empty, or are no ASCII; few numbers. */
static row_vec make_rows(char texts[][64])
{
	static const char *const starts[] = {
		"", "a", "std::", "std::vector<int>::", "std::vector<int>::push_back(", "\xc3\xa4",
	};
	row_vec rows = { 0 };

	srand(7);
	for (int i = 0; i < ROWS; i++) {
		struct row row = none;

		snprintf(texts[i], 64, "%s%.*s", starts[rand() % 6], rand() % 5,
			 rand() % 2 ? "1234" : "zz\xff" "9");
		row.name = row.owner = texts[i];
		row.pid = rand() % 3;
		row.self = (uint64_t)(rand() % 4);
		vec_push(&rows, row);
	}
	return rows;
}

/* 1 where no two neighbours stand wrongly by @compare, and equal ones as they stood. */
static int is_ordered(const row_vec *rows, const uint32_t *order,
		      int (*compare)(const struct row *a, const struct row *b))
{
	for (size_t i = 1; i < rows->n; i++) {
		int c = compare(&rows->v[order[i - 1]], &rows->v[order[i]]);

		if (c > 0 || (!c && order[i - 1] >= order[i]))
			return 0;
	}
	return 1;
}

static int by_name(const struct row *a, const struct row *b)
{
	return strcmp(a->name, b->name);
}

static int by_owner(const struct row *a, const struct row *b)
{
	int c = strcmp(a->owner, b->owner);

	return c ? c : a->pid - b->pid;
}

static int by_self(const struct row *a, const struct row *b)
{
	return (a->self < b->self) - (a->self > b->self);
}

static int by_pid(const struct row *a, const struct row *b)
{
	return a->pid - b->pid;
}

TEST(as_a_comparison_of_each_two_has_it)
{
	static const struct {
		enum row_column_id column;
		int (*compare)(const struct row *a, const struct row *b);
	} columns[] = {
		{ COLUMN_FUNCTION, by_name },
		{ COLUMN_OWNER, by_owner },
		{ COLUMN_SELF, by_self },
		{ COLUMN_PID, by_pid },
	};
	char (*texts)[64] = calloc(ROWS, sizeof(*texts));
	row_vec rows = make_rows(texts);

	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		uint32_t *order = row_order(&rows, &row_columns[columns[i].column]);

		CHECK(is_ordered(&rows, order, columns[i].compare));
		free(order);
	}
	vec_free(&rows);
	free(texts);
}

TEST(what_changed_most_first_but_significant_before)
{
	static const struct diff_row little = { .rate = { 0.1, 0.2 }, .significant = 1 },
				     much = { .rate = { 0.1, 0.9 } },
				     less = { .rate = { 0.5, 0.2 }, .significant = 1 };
	static const uint32_t expected[] = { 3, 1, 2, 0 };
	row_vec rows = { 0 };
	uint32_t *order;

	for (int i = 0; i < 4; i++)
		vec_push(&rows, none);
	rows.v[1].own = &little;
	rows.v[2].own = &much;
	rows.v[3].own = &less;
	order = row_order(&rows, &row_columns[COLUMN_CHANGE]);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(order[i], expected[i]);
	free(order);
	vec_free(&rows);
}

TEST(of_no_rows)
{
	row_vec rows = { 0 };
	uint32_t *order = row_order(&rows, &row_columns[COLUMN_FUNCTION]);

	free(order);
}

/* One text that all have, and long ones, end. */
TEST(of_one_text)
{
	static char text[4096];
	row_vec rows = { 0 };
	uint32_t *order;

	memset(text, 'x', sizeof(text) - 1);
	for (int i = 0; i < ROWS; i++) {
		struct row row = none;

		row.name = text + i % 2;
		vec_push(&rows, row);
	}
	order = row_order(&rows, &row_columns[COLUMN_FUNCTION]);
	CHECK(is_ordered(&rows, order, by_name));
	free(order);
	vec_free(&rows);
}

int main(void)
{
	RUN(as_a_comparison_of_each_two_has_it);
	RUN(what_changed_most_first_but_significant_before);
	RUN(of_no_rows);
	RUN(of_one_text);
	return TEST_END();
}
