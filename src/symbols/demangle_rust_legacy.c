/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <string.h>

#include "symbols/demangle_rust.h"
#include "symbols/name_out.h"

#define HASH_SIZE 20	/* "17h", 16 hex digits, "E" */

/* A "$...$" escape at @p, up to @end. Prints it and returns its length; 0 where it is none. */
static size_t escape(struct name_out *o, const char *p, const char *end)
{
	static const struct { const char *code; char c; } codes[] = {
		{ "C", ',' }, { "SP", '@' }, { "BP", '*' }, { "RF", '&' },
		{ "LT", '<' }, { "GT", '>' }, { "LP", '(' }, { "RP", ')' },
	};
	const char *stop = memchr(p + 1, '$', (size_t)(end - p - 1));
	size_t n = stop ? (size_t)(stop - p - 1) : 0;
	uint32_t c = 0;

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (n == strlen(codes[i].code) && !memcmp(p + 1, codes[i].code, n))
			c = (unsigned char)codes[i].c;
	if (!c && n >= 2 && n <= 7 && p[1] == 'u')
		for (size_t i = 2; i <= n; i++) {
			int digit = rust_hex_digit(p[i]);

			if (digit < 0)
				return 0;
			c = c << 4 | (unsigned int)digit;
		}
	if (c < 0x20)
		return 0;
	name_out_char(o, c);
	return n + 2;
}

static void identifier(struct name_out *o, const char *p, size_t n)
{
	const char *end = p + n;

	/* Put before what does not begin like an identifier. */
	if (n >= 2 && p[0] == '_' && p[1] == '$')
		p++;
	while (p < end) {
		size_t used = 1;

		if (*p == '$') {
			used = escape(o, p, end);
			if (!used) {
				name_out_bytes(o, p, (size_t)(end - p));
				return;
			}
		} else if (end - p >= 2 && p[0] == '.' && p[1] == '.') {
			name_out_text(o, "::");
			used = 2;
		} else {
			name_out_bytes(o, p, 1);
		}
		p += used;
	}
}

/* "17h" and 16 hex digits, 5 different ones at the least: C++ has names of 17 characters too. */
static int is_hash(const char *s)
{
	unsigned int seen = 0;

	if (memcmp(s, "17h", 3) != 0)
		return 0;
	for (int i = 3; i < HASH_SIZE - 1; i++) {
		int digit = rust_hex_digit(s[i]);

		if (digit < 0)
			return 0;
		seen |= 1u << digit;
	}
	return s[HASH_SIZE - 1] == 'E' && __builtin_popcount(seen) >= 5;
}

/*
 * Reads the length before an identifier; the identifier's start, or NULL where it does not end
 * before @end.
 */
static const char *parse_length(const char *p, const char *end, size_t *n)
{
	size_t limit = (size_t)(end - p);

	for (*n = 0; p < end && *p >= '0' && *p <= '9'; p++) {
		*n = *n * 10 + (size_t)(*p - '0');
		if (*n > limit)
			return NULL;
	}
	return *n && *n <= (size_t)(end - p) ? p : NULL;
}

size_t demangle_rust_legacy(const char *s, size_t n, char *dst, size_t size)
{
	struct name_out out = { .dst = dst, .size = size };
	const char *p = s + 3, *end;

	if (n <= 3 + HASH_SIZE || memcmp(s, "_ZN", 3) != 0 || !is_hash(s + n - HASH_SIZE))
		return 0;
	for (end = s + n - HASH_SIZE; p < end; p += n) {
		if (p != s + 3)
			name_out_text(&out, "::");
		p = parse_length(p, end, &n);
		if (!p)
			return 0;
		identifier(&out, p, n);
	}
	return name_out_end(&out);
}
