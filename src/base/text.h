/* SPDX-License-Identifier: MIT */
/*
 * Makes text that came from a profiled process safe to show.
 *
 * comm, symbol and file names are chosen by whoever wrote the program, and end
 * up in a terminal, an SVG, a JSON file. This is the one place where they are
 * made valid UTF-8 without control characters; no output does it again.
 */
#ifndef EBPROF_TEXT_H
#define EBPROF_TEXT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies @src to @dst (@size bytes, always terminated; cut at a character's
 * edge). Bytes that are not valid UTF-8 become U+FFFD; control characters (C0,
 * DEL, C1, the bidirectional and line-separator controls, which can reorder a
 * line on a terminal, invisible tags, and U+FFFE and U+FFFF, which XML forbids)
 * become \n, \t, \xHH or \u{HHHH}. Returns the number of bytes written, without
 * the terminator.
 */
size_t text_clean(char *dst, size_t size, const char *src);

/* Columns that clean text takes on a terminal: wide characters two, combining ones none. */
size_t text_width(const char *s);

/*
 * Copies clean text to @dst (@size bytes, always terminated), at most @columns
 * wide; what is longer loses its middle to "...", because the ends of a name say
 * most. Where there is no room for that (fewer than 8 columns) its end is cut.
 */
void text_fit(char *dst, size_t size, const char *src, size_t columns);

/*
 * As text_fit(), but what is longer loses its end to an ellipsis of one column, or with @keep_end
 * its beginning. "" where there is no room for an ellipsis and a character.
 */
void text_cut(char *dst, size_t size, const char *src, size_t columns, int keep_end);

/*
 * A number without a sign in @base (as strtoull(): 0 takes 0x and octal ones, too), the whole of
 * @text, which begins with a digit. 0, or -EINVAL.
 */
int text_u64(const char *text, int base, uint64_t *number);

/* What a noun ends in that stands behind the number @n: "1 sample", "2 samples". */
static inline const char *text_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "812,000" for 812345: three digits that count. Returns @text. */
#define TEXT_ABOUT 40
const char *text_about(double x, char text[TEXT_ABOUT]);

#endif
