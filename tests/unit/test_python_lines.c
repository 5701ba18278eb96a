/* SPDX-License-Identifier: MIT */
/* Tables that CPython made of one function, and the lines that it says of each instruction. */
#include "lang/python_lines.h"
#include "test.h"

/* @lines: one for each instruction, 0: none. */
static void check(uint32_t minor, const char *table, size_t size, const uint8_t *lines, size_t n)
{
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(python_line(minor, (const uint8_t *)table, size, 2, (uint32_t)i),
			 lines[i]);
}

#define TABLE(s) (s), sizeof(s) - 1
#define LINES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

TEST(python_3_6)
{
	check(6,
	      TABLE("\x00\x02\x04\x01\x04\x01\x0a\x01\x04\x01\x0c\x03\x04\x01\x02\x01\x0c\x01\x0e"
		    "\x00"
		    "\x06\x01\x06\x01"),
	      LINES(4, 4, 5, 5, 6, 6, 6, 6, 6, 7, 7, 8, 8, 8, 8, 8, 8, 11, 11, 12, 13, 13, 13, 13,
		    13, 13, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 16, 16, 16, 16, 16,
		    16));
}

TEST(python_3_9_goes_back)
{
	check(9,
	      TABLE("\x00\x02\x04\x01\x02\x01\x02\xff\x08\x02\x04\x01\x02\xff\x08\x04\x04\x01\x02"
		    "\x01"
		    "\x0c\x01\x12\x01\x06\x01\x06\xff"),
	      LINES(4, 4, 5, 6, 5, 5, 5, 5, 7, 7, 8, 7, 7, 7, 7, 11, 11, 12, 13, 13, 13, 13, 13, 13,
		    14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 16, 16, 16, 15, 15, 15));
}

TEST(python_3_10)
{
	check(10,
	      TABLE("\x04\x02\x02\x01\x02\x01\x08\xff\x04\x02\x02\x01\x08\xff\x04\x04\x02\x01\x0c"
		    "\x01"
		    "\x12\x01\x06\x01\x06\x01\x06\xff"),
	      LINES(4, 4, 5, 6, 5, 5, 5, 5, 7, 7, 8, 7, 7, 7, 7, 11, 11, 12, 13, 13, 13, 13, 13, 13,
		    14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 16, 16, 16, 15, 15, 15));
	/* Code of no line. */
	CHECK_EQ(python_line(10, (const uint8_t *)"\x02\x01\x02\x80\x02\x01", 6, 2, 1), 0);
	CHECK_EQ(python_line(10, (const uint8_t *)"\x02\x01\x02\x80\x02\x01", 6, 2, 2), 4);
}

#define TABLE_3_11                                                                             \
	"\x80\x00\xe0\x08\x09\x80\x41\xdd\x0d\x12\xd8\x0c\x0d\xf1\x03\x01\x0e\x0f\xf4\x00\x01\x0e" \
	"\x0f\xf0\x00\x03\x05\x13\xf0\x00\x03\x05\x13\x88\x01\xe0\x08\x09\x88\x61\xd8\x10\x11\xf1" \
	"\x03\x01\x0f\x12\xf1\x00\x01\x09\x13\x88\x01\x88\x01\xf0\x08\x00\x08\x09\xf0\x00\x03\x05" \
	"\x27\xf0\x02\x02\x09\x27\xd8\x10\x11\x90\x41\x91\x05\x88\x41\x88\x41\xf8\xdd\x0f\x20\xd0" \
	"\x08\x26\xd0\x08\x26\xd0\x08\x26\xa0\x24\xa0\x24\xd0\x08\x26\xf8\xf8\xf8\xf0\x02\x01\x0c" \
	"\x1f\xf0\x00\x01\x0c\x1f\xdd\x15\x1a\x98\x31\x91\x58\x94\x58\xf0\x03\x01\x0c\x1f\xf1\x00" \
	"\x01\x0c\x1f\xf4\x00\x01\x0c\x1f\xf0\x00\x01\x05\x1f"

TEST(python_3_11)
{
	check(11, TABLE(TABLE_3_11),
	      LINES(2, 4, 4, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 7, 7, 8, 7, 7, 7, 7,
		    7, 7, 11, 11, 12, 13, 13, 13, 13, 13, 13, 0, 14, 14, 14, 14, 14, 14, 14, 14, 14,
		    14, 14, 14, 0, 0, 0, 15, 15, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
		    16, 15, 15, 15, 15, 15, 15, 15, 15, 15));
}

TEST(a_long_difference)
{
	/* Long form: 1 + 3 * 64 forward as a signed varint, then back by 5. */
	static const uint8_t table[] = { 0xf0, 0x42, 0x06, 0x00, 0x01, 0x01, 0xe8, 0x0b };

	CHECK_EQ(python_line(13, table, sizeof(table), 10, 0), 10 + (2 + 6 * 64) / 2);
	CHECK_EQ(python_line(13, table, sizeof(table), 10, 1), 10 + (2 + 6 * 64) / 2 - 5);
}

TEST(a_cut_table_knows_its_beginning)
{
	CHECK_EQ(python_line(11, (const uint8_t *)TABLE_3_11, 40, 2, 3), 5);
	CHECK_EQ(python_line(11, (const uint8_t *)TABLE_3_11, 40, 2, 60), 0);
	CHECK_EQ(python_line(10, (const uint8_t *)"\x04\x02\x02", 3, 2, 2), 0);
	CHECK_EQ(python_line(13, NULL, 0, 2, 0), 0);
}

TEST(nonsense_is_no_line)
{
	static const uint8_t back[] = { 0xe8, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x03 };

	CHECK_EQ(python_line(13, back, sizeof(back), 2, 0), 0);
	CHECK_EQ(python_line(13, back, sizeof(back), 2, UINT32_MAX), 0);
	CHECK_EQ(python_line(9, (const uint8_t *)"\x00\x81", 2, 5, 0), 0);
}

int main(void)
{
	RUN(python_3_6);
	RUN(python_3_9_goes_back);
	RUN(python_3_10);
	RUN(python_3_11);
	RUN(a_long_difference);
	RUN(a_cut_table_knows_its_beginning);
	RUN(nonsense_is_no_line);
	return TEST_END();
}
