/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/error.h"
#include "base/text.h"

#define U_FFFD "\xef\xbf\xbd"

static const char *clean(const char *s)
{
	static char out[512];
	size_t n = text_clean(out, sizeof(out), s);

	CHECK_EQ(n, strlen(out));
	return out;
}

static const char *fit(const char *s, size_t columns)
{
	static char out[512];

	text_fit(out, sizeof(out), s, columns);
	return out;
}

TEST(plain_text_stays)
{
	static const char *const same[] = {
		"",
		"main",
		"std::vector<int, std::allocator<int> >::push_back(int&&)",
		"a;b \"c\" <d> & e\\",
		"gr\xc3\xbc\xc3\x9f",
		"\xe6\xbc\xa2\xe5\xad\x97",
		"\xf0\x9f\x98\x80",
		"\xf4\x8f\xbf\xbd",
		"\xc2\xa0",
		"\xef\xbf\xbd",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xf0\x90\x80\x80",
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		CHECK_STR(clean(same[i]), same[i]);
}

TEST(invalid_bytes_are_replaced)
{
	CHECK_STR(clean("a\xff" "b"), "a" U_FFFD "b");
	CHECK_STR(clean("\x80"), U_FFFD);
	/* cut short by the end */
	CHECK_STR(clean("\xc3"), U_FFFD);
	CHECK_STR(clean("\xe6\xbc"), U_FFFD U_FFFD);
	CHECK_STR(clean("\xe6\xbcx"), U_FFFD U_FFFD "x");
	CHECK_STR(clean("\xc0\xaf"), U_FFFD U_FFFD);				/* overlong '/' */
	CHECK_STR(clean("\xc1\xbf"), U_FFFD U_FFFD);
	CHECK_STR(clean("\xe0\x9f\xbf"), U_FFFD U_FFFD U_FFFD);
	CHECK_STR(clean("\xf0\x8f\xbf\xbf"), U_FFFD U_FFFD U_FFFD U_FFFD);
	CHECK_STR(clean("\xed\xa0\x80"), U_FFFD U_FFFD U_FFFD);			/* surrogate */
	CHECK_STR(clean("\xf4\x90\x80\x80"), U_FFFD U_FFFD U_FFFD U_FFFD);	/* over U+10FFFF */
	CHECK_STR(clean("\xf8\x88\x80\x80\x80"), U_FFFD U_FFFD U_FFFD U_FFFD U_FFFD);
}

TEST(controls_are_escaped)
{
	CHECK_STR(clean("a\nb\tc"), "a\\nb\\tc");
	CHECK_STR(clean("\033[31mred"), "\\x1b[31mred");
	CHECK_STR(clean("\x01\x7f"), "\\x01\\x7f");
	/* C1: CSI in one character */
	CHECK_STR(clean("\xc2\x80\xc2\x9b" "\xc2\x9f"), "\\x80\\x9b\\x9f");
	/* right-to-left override */
	CHECK_STR(clean("\xe2\x80\xae" "abc"), "\\u{202e}abc");
	/* end a line in JavaScript */
	CHECK_STR(clean("\xe2\x80\xa8\xe2\x80\xa9"), "\\u{2028}\\u{2029}");
	CHECK_STR(clean("\xe2\x81\xa6\xe2\x81\xa9"), "\\u{2066}\\u{2069}");
	CHECK_STR(clean("\xe2\x80\x8e\xd8\x9c"), "\\u{200e}\\u{061c}");
	CHECK_STR(clean("\xef\xbb\xbf"), "\\u{feff}");
	/* not XML characters */
	CHECK_STR(clean("\xef\xbf\xbe\xef\xbf\xbf"), "\\u{fffe}\\u{ffff}");
	/* an invisible 'A' */
	CHECK_STR(clean("\xf3\xa0\x81\x81"), "\\u{e0041}");
}

TEST(is_cut_between_characters)
{
	char out[8];

	for (size_t size = 1; size <= sizeof(out); size++) {
		memset(out, '#', sizeof(out));
		CHECK_EQ(text_clean(out, size, "\xe6\xbc\xa2\xe5\xad\x97"), (size - 1) / 3 * 3);
		CHECK_EQ(strlen(out), (size - 1) / 3 * 3);
	}
	/* An escape is all or nothing. */
	CHECK_EQ(text_clean(out, 4, "\033"), 0);
	CHECK_EQ(text_clean(out, 5, "\033"), 4);
	out[0] = '#';
	CHECK_EQ(text_clean(out, 0, "abc"), 0);
	CHECK_EQ(out[0], '#');
}

TEST(widths)
{
	CHECK_EQ(text_width(""), 0);
	CHECK_EQ(text_width("abc"), 3);
	CHECK_EQ(text_width("\xc3\xbc"), 1);
	/* u and a combining diaeresis */
	CHECK_EQ(text_width("u\xcc\x88"), 1);
	CHECK_EQ(text_width("\xe6\xbc\xa2\xe5\xad\x97"), 4);
	CHECK_EQ(text_width("\xf0\x9f\x98\x80"), 2);
	CHECK_EQ(text_width("\xff"), 1);
}

TEST(fits_by_losing_the_middle)
{
	CHECK_STR(fit("abcdefghij", 10), "abcdefghij");
	CHECK_STR(fit("abcdefghijk", 10), "abcd...ijk");
	CHECK_STR(fit("abcdefghijklmnop", 11), "abcd...mnop");
	CHECK_STR(fit("abcdefghijk", 7), "abcdefg");
	CHECK_STR(fit("abcdefghijk", 0), "");
	/* Ten wide characters: no half of one on either side. */
	CHECK_STR(fit("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe5\xad\x97\xe5"
		      "\xad\x97"
		      "\xe5\xad\x97\xe5\xad\x97\xe5\xad\x97",
		      10),
		  "\xe6\xbc\xa2\xe6\xbc\xa2...\xe5\xad\x97");
}

TEST(fits_into_the_buffer)
{
	char out[24], many[400] = "a";

	/* Two hundred combining marks are one column, and too many bytes all the same. */
	for (int i = 0; i < 199; i++)
		strcat(many, "\xcc\x81");
	CHECK_EQ(text_width(many), 1);
	text_fit(out, sizeof(out), many, 80);
	CHECK(strlen(out) < sizeof(out));
	CHECK_STR(clean(out), out);
	text_fit(out, 1, "abc", 80);
	CHECK_STR(out, "");
	text_fit(out, 3, "abc", 80);
	CHECK_STR(out, "ab");
	text_fit(out, sizeof(out), "abcdefghijklmnopqrstuvwxyz", 100);
	CHECK_STR(out, "abcdefghij...qrstuvwxyz");
}

TEST(errors_are_clean_lines)
{
	struct error e;
	char longest[600];

	CHECK_EQ(error_set(&e, STATUS_USAGE, -22, "no '%s'", "a\n\033]0;x\a"), -22);
	CHECK_STR(e.text, "no 'a\\n\\x1b]0;x\\x07'");
	CHECK_EQ(e.status, STATUS_USAGE);
	CHECK_EQ(error_set(NULL, STATUS_ERROR, -5, "%d", 1), -5);
	/* An error may quote the one before it. */
	error_set(&e, STATUS_ERROR, -5, "%s: again", "first");
	CHECK_EQ(error_set(&e, STATUS_ERROR, -5, "second: %s", e.text), -5);
	CHECK_STR(e.text, "second: first: again");
	/* Cut within a character: the character goes, and no U+FFFD comes. */
	for (size_t n = 505; n < 514; n++) {
		memset(longest, 'a', n);
		strcpy(longest + n, "\xf0\x9f\x98\x80");
		error_set(&e, STATUS_ERROR, -5, "%s", longest);
		CHECK(!strstr(e.text, U_FFFD));
		CHECK_EQ(strlen(e.text), n + 4 <= 511 ? n + 4 : n < 511 ? n : 511);
	}
}

int main(void)
{
	RUN(plain_text_stays);
	RUN(invalid_bytes_are_replaced);
	RUN(controls_are_escaped);
	RUN(is_cut_between_characters);
	RUN(widths);
	RUN(fits_by_losing_the_middle);
	RUN(fits_into_the_buffer);
	RUN(errors_are_clean_lines);
	return TEST_END();
}
