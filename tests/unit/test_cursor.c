/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/cursor.h"

static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

static struct cursor over(size_t n)
{
	return (struct cursor){ bytes, bytes + n, 0 };
}

/* DW_FORM_strx3 has three bytes. */
TEST(reads_sizes)
{
	struct cursor c = over(16);

	CHECK_EQ(cursor_fixed(&c, 1), 0x01);
	CHECK_EQ(cursor_fixed(&c, 3), 0x040302);
	CHECK_EQ(cursor_fixed(&c, 8), 0x0c0b0a0908070605);
	CHECK_EQ(cursor_fixed(&c, 4), 0x100f0e0d);
	CHECK(!c.bad && c.p == c.end);
	CHECK_EQ(cursor_fixed(&c, 1), 0);
	CHECK(c.bad);
}

/* A file may say that its numbers have any size. */
TEST(reads_no_size_beyond_its_number)
{
	for (unsigned size = 9; size < 256; size++) {
		struct cursor c = over(16);

		CHECK_EQ(cursor_fixed(&c, size), 0);
		CHECK(c.bad && c.p == c.end);
	}
}

TEST(stops_at_the_end)
{
	struct cursor c = over(7);

	CHECK_EQ(cursor_fixed(&c, 8), 0);
	CHECK(c.bad && c.p == c.end);
	CHECK_EQ(cursor_uleb(&c), 0);
	c = over(3);
	cursor_skip(&c, 4);
	CHECK(c.bad && c.p == c.end);
	c = over(3);
	cursor_skip(&c, 3);
	CHECK(!c.bad && c.p == c.end);
}

/* The examples of DWARF 5, tables 7.7 and 7.8; and padding, which may be of any length. */
TEST(reads_leb128)
{
	static const uint8_t numbers[] = { 0x02, 0x7f, 0x80, 0x01, 0xb9, 0x64, 0x7e, 0x80,
					   0x7f, 0xff, 0x7e, 0x81, 0x80, 0x80, 0x80, 0x80,
					   0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x80 };
	struct cursor c = { numbers, numbers + sizeof(numbers), 0 };

	CHECK_EQ(cursor_uleb(&c), 2);
	CHECK_EQ(cursor_uleb(&c), 127);
	CHECK_EQ(cursor_uleb(&c), 128);
	CHECK_EQ(cursor_uleb(&c), 12857);
	CHECK_EQ(cursor_sleb(&c), -2);
	CHECK_EQ(cursor_sleb(&c), -128);
	CHECK_EQ(cursor_sleb(&c), -129);
	CHECK_EQ(cursor_uleb(&c), 1);
	CHECK(!c.bad);
	CHECK_EQ(cursor_uleb(&c), 0);
	CHECK(c.bad);
}

int main(void)
{
	RUN(reads_sizes);
	RUN(reads_no_size_beyond_its_number);
	RUN(stops_at_the_end);
	RUN(reads_leb128);
	return TEST_END();
}
