/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Decodes one character of UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * at most U+10FFFF). Returns its length in bytes, 0 where it is not valid.
 * @s is terminated, so a truncated sequence ends at the terminator.
 */
static size_t decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80	     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;

	if (!n)
		return 0;
	*cp = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		*cp = *cp << 6 | (s[i] & 0x3f);
	}
	if (*cp < least[n] || *cp > 0x10ffff || (*cp >= 0xd800 && *cp < 0xe000))
		return 0;
	return n;
}

struct range { uint32_t first, last; };

static int in_ranges(const struct range *r, size_t n, uint32_t cp)
{
	while (n--)
		if (cp >= r[n].first && cp <= r[n].last)
			return 1;
	return 0;
}

#define IN(table, cp) in_ranges(table, sizeof(table) / sizeof((table)[0]), cp)

static int is_control(uint32_t cp)
{
	static const struct range controls[] = {
		{ 0x00, 0x1f }, { 0x7f, 0x9f },
		{ 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
		{ 0xfffe, 0xffff },		/* no characters in XML 1.0, 2.2 */
		{ 0xe0000, 0xe007f },		/* invisible tags */
	};

	return cp >= 0x7f ? IN(controls, cp) : cp < 0x20;
}

/*
 * Columns that a terminal gives to one character: a coarse wcwidth(3), which
 * itself knows nothing beyond ASCII until setlocale().
 */
static size_t char_width(uint32_t cp)
{
	static const struct range none[] = {
		{ 0x300, 0x36f },     { 0x483, 0x489 },	  { 0x591, 0x5bd },   { 0x610, 0x61a },
		{ 0x64b, 0x65f },     { 0x200b, 0x200d }, { 0x2060, 0x2064 }, { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff },   { 0x20d0, 0x20ff }, { 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f },
		{ 0xe0100, 0xe01ef },
	};
	static const struct range wide[] = {
		{ 0x1100, 0x115f },   { 0x2e80, 0x303e },   { 0x3041, 0xa4cf },
		{ 0xa960, 0xa97f },   { 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },
		{ 0xfe30, 0xfe6f },   { 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },
		{ 0x1f300, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f900, 0x1f9ff },
		{ 0x20000, 0x3fffd },
	};

	if (cp < 0x300 || IN(none, cp))
		return cp < 0x300;
	return IN(wide, cp) ? 2 : 1;
}

/* Bytes and columns of the character at @s; a byte that is no character counts as one. */
static size_t measure(const char *s, size_t *width)
{
	uint32_t cp = 0;
	size_t n = decode((const unsigned char *)s, &cp);

	*width = n ? char_width(cp) : 1;
	return n ? n : 1;
}

size_t text_clean(char *dst, size_t size, const char *src)
{
	const unsigned char *s = (const unsigned char *)src;
	size_t used = 0;

	if (!size)
		return 0;
	while (*s) {
		char piece[16];
		uint32_t cp = 0;
		size_t n, len;

		/* Most of all text. */
		while (*s >= ' ' && *s < 0x7f && used + 1 < size)
			dst[used++] = (char)*s++;
		n = len = decode(s, &cp);
		if (!*s)
			break;
		if (!n) {
			n = 1;
			len = 3;
			memcpy(piece, "\xef\xbf\xbd", 3);
		} else if (is_control(cp)) {
			const char *fmt = cp == '\n' ? "\\n" : cp == '\t' ? "\\t" :
					  cp < 0x100 ? "\\x%02x" : "\\u{%04x}";

			len = (size_t)snprintf(piece, sizeof(piece), fmt, cp);
		} else {
			memcpy(piece, s, n);
		}
		if (used + len >= size)
			break;
		memcpy(dst + used, piece, len);
		used += len;
		s += n;
	}
	dst[used] = '\0';
	return used;
}

size_t text_width(const char *s)
{
	size_t sum = 0, width;

	while (*s) {
		s += measure(s, &width);
		sum += width;
	}
	return sum;
}

void text_fit(char *dst, size_t size, const char *src, size_t columns)
{
	size_t left = text_width(src), bytes = strlen(src), width, n, used = 0;
	size_t dots = columns >= 8 && size > 16 ? 3 : 0;
	size_t head, head_bytes, tail, tail_bytes;

	if (!size)
		return;
	if (left <= columns && bytes < size) {
		memcpy(dst, src, bytes + 1);
		return;
	}
	/*
	 * Half of the room for the beginning and half for the end; all for the beginning where it
	 * is tiny.
	 */
	tail = dots ? (columns - dots) / 2 : 0;
	head = columns - dots - tail;
	tail_bytes = dots ? (size - 1 - dots) / 2 : 0;
	head_bytes = size - 1 - dots - tail_bytes;
	for (; *src && (n = measure(src, &width)) <= head_bytes && width <= head; src += n) {
		memcpy(dst + used, src, n);
		used += n;
		head_bytes -= n;
		head -= width;
		left -= width;
		bytes -= n;
	}
	memcpy(dst + used, "...", dots);
	used += dots;
	while (bytes && (left > tail || bytes > tail_bytes)) {
		n = measure(src, &width);
		src += n;
		left -= width;
		bytes -= n;
	}
	memcpy(dst + used, src, bytes);
	dst[used + bytes] = '\0';
}

void text_cut(char *dst, size_t size, const char *src, size_t columns, int keep_end)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	size_t left = text_width(src), bytes = strlen(src), used = 0, width, n;
	size_t room = size > sizeof(ellipsis) ? size - sizeof(ellipsis) : 0;

	if (!size)
		return;
	*dst = '\0';
	if (left <= columns && bytes < size) {
		memcpy(dst, src, bytes + 1);
		return;
	}
	if (columns < 2 || !room)
		return;
	columns--;
	if (keep_end) {
		for (; bytes && (left > columns || bytes > room);
		     src += n, bytes -= n, left -= width)
			n = measure(src, &width);
		memcpy(dst, ellipsis, sizeof(ellipsis) - 1);
		memcpy(dst + sizeof(ellipsis) - 1, src, bytes + 1);
		return;
	}
	for (; *src && (n = measure(src, &width)) <= room && width <= columns; src += n) {
		memcpy(dst + used, src, n);
		used += n;
		room -= n;
		columns -= width;
	}
	memcpy(dst + used, ellipsis, sizeof(ellipsis));
}

const char *text_about(double x, char text[TEXT_ABOUT])
{
	unsigned long long n = (unsigned long long)(x + 0.5), unit = 1;
	char digits[TEXT_ABOUT];
	size_t length, at = 0;

	while (n / unit >= 1000)
		unit *= 10;
	length = (size_t)snprintf(digits, sizeof(digits), "%llu", (n + unit / 2) / unit * unit);
	for (size_t i = 0; i < length && at < TEXT_ABOUT - 2; i++) {
		text[at++] = digits[i];
		if (i + 1 < length && (length - i - 1) % 3 == 0)
			text[at++] = ',';
	}
	text[at] = '\0';
	return text;
}

int text_u64(const char *text, int base, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, base);
	return errno || *end ? -EINVAL : 0;
}
