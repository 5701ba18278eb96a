/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "bpf/ruby.h"
#include "lang/ruby_lines.h"
#include "test.h"

static uint8_t table[EBP_CODE_TABLE];

static void put64(size_t at, uint64_t value)
{
	memcpy(table + at, &value, sizeof(value));
}

/* Lines 10, 11, ... @n; behind 0, 5, 60, 130 and 600 words. Returns the table's size. */
static size_t make(uint32_t n)
{
	struct ebp_ruby_table t = { .index_bytes = 48 + 2 * 80, .entries = n, .entry_bytes = 12,
				    .index_room = EBP_RUBY_INDEX };
	size_t index = sizeof(t), lines = sizeof(t) + EBP_RUBY_INDEX;

	memset(table, 0, sizeof(table));
	memcpy(table, &t, sizeof(t));
	for (uint32_t i = 0; i < n; i++)
		table[lines + i * 12] = (uint8_t)(10 + i);
	for (uint32_t k = 0; k < 6; k++) {
		uint64_t counts = 0;

		for (uint32_t i = 0; i < 9; i++)
			counts |= (uint64_t)(k * 9 + i < 5 ? 1 : 2) << i * 7;
		put64(index + k * 8, counts);
	}
	put64(index + 48, 2);
	put64(index + 56, 1 | 2ull << 9 | 2ull << 18 | 2ull << 27 | 2ull << 36 | 2ull << 45 |
				  2ull << 54);
	put64(index + 64, 1ull << (60 - 54));
	put64(index + 64 + 8, 1ull << (130 - 54 - 64));
	put64(index + 128, 4);
	put64(index + 128 + 16, 1ull << (600 - 54 - 512));
	return lines + n * 12;
}

TEST(a_line_for_each_word)
{
	size_t n = make(5);

	CHECK_EQ(ruby_line(table, n, 0), 10);
	CHECK_EQ(ruby_line(table, n, 4), 10);
	CHECK_EQ(ruby_line(table, n, 5), 11);
	CHECK_EQ(ruby_line(table, n, 59), 11);
	CHECK_EQ(ruby_line(table, n, 60), 12);
	CHECK_EQ(ruby_line(table, n, 129), 12);
	CHECK_EQ(ruby_line(table, n, 130), 13);
	CHECK_EQ(ruby_line(table, n, 599), 13);
	CHECK_EQ(ruby_line(table, n, 600), 14);
}

TEST(what_was_not_sent_is_not_known)
{
	size_t n = make(5);

	CHECK_EQ(ruby_line(table, n, 54 + 1024), 0);
	CHECK_EQ(ruby_line(table, n - 12, 600), 0);
	CHECK_EQ(ruby_line(table, n - 12, 599), 13);
	CHECK_EQ(ruby_line(table, 100, 0), 0);
	CHECK_EQ(ruby_line(table, 0, 0), 0);
}

TEST(one_line_has_no_index)
{
	size_t n = make(1);

	memset(table + sizeof(struct ebp_ruby_table), 0, EBP_RUBY_INDEX);
	CHECK_EQ(ruby_line(table, n, 0), 10);
	CHECK_EQ(ruby_line(table, n, 5000), 10);
}

int main(void)
{
	RUN(a_line_for_each_word);
	RUN(what_was_not_sent_is_not_known);
	RUN(one_line_has_no_index);
	return TEST_END();
}
