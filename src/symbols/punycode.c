/* SPDX-License-Identifier: MIT */
#include "symbols/punycode.h"

#include <string.h>

/* RFC 3492, 6.1. */
static uint32_t adapt(uint32_t delta, uint32_t n, int first)
{
	uint32_t k = 0;

	delta = first ? delta / 700 : delta / 2;
	delta += delta / n;
	for (; delta > 35 * 26 / 2; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/*
 * One variable-length number (RFC 3492, 3.3) at @p: what to add to *@i. NULL where it is malformed.
 */
static const char *read_delta(const char *p, const char *end, uint32_t bias, uint32_t *i)
{
	uint32_t w = 1;

	for (uint32_t k = 36;; k += 36) {
		uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias, digit, add;
		int c = p < end ? *p++ : 0;

		if (c >= 'a' && c <= 'z')
			digit = (uint32_t)(c - 'a');
		else if (c >= '0' && c <= '9')
			digit = (uint32_t)(c - '0') + 26;
		else
			return NULL;
		if (__builtin_mul_overflow(digit, w, &add) || __builtin_add_overflow(*i, add, i))
			return NULL;
		if (digit < t)
			return p;
		if (__builtin_mul_overflow(w, 36 - t, &w))
			return NULL;
	}
}

size_t punycode_decode(const char *text, size_t size, uint32_t *out, size_t max)
{
	const char *end = text + size, *p = memrchr(text, '_', size);
	uint32_t c = 0x80, i = 0, bias = 72;
	size_t n = 0;

	if (p)
		for (const char *q = text; q < p; q++) {
			if (n == max)
				return 0;
			out[n++] = (unsigned char)*q;
		}
	for (p = p ? p + 1 : text; p && p < end; i++) {
		uint32_t old = i, at;

		p = read_delta(p, end, bias, &i);
		if (!p || n == max)
			return 0;
		bias = adapt(i - old, (uint32_t)n + 1, old == 0);
		if (__builtin_add_overflow(c, i / (n + 1), &c))
			return 0;
		at = i % (uint32_t)(n + 1);
		memmove(out + at + 1, out + at, (n - at) * sizeof(*out));
		out[at] = c;
		n++;
		i = at;
	}
	return n;
}
