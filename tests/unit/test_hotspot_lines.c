/* SPDX-License-Identifier: MIT */
/* Tables of lines as HotSpot compresses them. */
#include "lang/hotspot_lines.h"
#include "test.h"

#define LINE(table, no_zero, bci) \
	hotspot_line((const uint8_t *)(table), sizeof(table) - 1, no_zero, bci)

/* bci 0: line 7, bci 4: 8, bci 9: 10; lines of more than 7 at once are in the long form. */
static const char old[] = "\x07\x21\x2a\x00";

TEST(short_pairs)
{
	CHECK_EQ(LINE(old, 0, 0), 7);
	CHECK_EQ(LINE(old, 0, 3), 7);
	CHECK_EQ(LINE(old, 0, 4), 8);
	CHECK_EQ(LINE(old, 0, 8), 8);
	CHECK_EQ(LINE(old, 0, 9), 10);
	CHECK_EQ(LINE(old, 0, 60000), 10);
}

/* Long pairs have their sign in the lowest bit: (0, +100), (+40, -3). */
TEST(long_pairs)
{
	/* 200 is 192 + 8: a byte of at least 192, and what is left of it 64 times as heavy. */
	CHECK_EQ(LINE("\xff\x00\xc8\x00\xff\x50\x05\x00", 0, 0), 100);
	CHECK_EQ(LINE("\xff\x00\xc8\x00\xff\x50\x05\x00", 0, 39), 100);
	CHECK_EQ(LINE("\xff\x00\xc8\x00\xff\x50\x05\x00", 0, 40), 97);
	/* Since JDK 20 every byte is one more, and the bound too. */
	CHECK_EQ(LINE("\xff\x01\xc9\x01\xff\x51\x06\x00", 1, 0), 100);
	CHECK_EQ(LINE("\xff\x01\xc9\x01\xff\x51\x06\x00", 1, 40), 97);
}

/* A body of a loop may lie behind its condition: bytecodes ascend, lines need not. */
TEST(lines_may_go_back)
{
	CHECK_EQ(LINE("\x0a\xff\x08\x01\x00", 0, 3), 2);
	CHECK_EQ(LINE("\x0a\xff\x08\x01\x00", 0, 5), 1);
}

TEST(what_is_cut_or_empty)
{
	CHECK_EQ(LINE("", 0, 0), 0);
	CHECK_EQ(LINE("\x00", 0, 0), 0);
	CHECK_EQ(LINE("\xff", 0, 0), 0);
	CHECK_EQ(LINE("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0, 9), 0);
	CHECK_EQ(LINE("\x07\xff\x02", 0, 0), 7);
}

int main(void)
{
	RUN(short_pairs);
	RUN(long_pairs);
	RUN(lines_may_go_back);
	RUN(what_is_cut_or_empty);
	return TEST_END();
}
