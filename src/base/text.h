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

/*
 * Copies @src to @dst (@size bytes, always terminated; cut at a character's
 * edge). Bytes that are not valid UTF-8 become U+FFFD; control characters (C0,
 * DEL, C1, and the bidirectional and line-separator controls, which can
 * reorder a line on a terminal) become \n, \t, \xHH or \u{HHHH}. Returns the
 * number of bytes written, without the terminator.
 */
size_t text_clean(char *dst, size_t size, const char *src);

#endif
