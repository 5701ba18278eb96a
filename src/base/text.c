/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/*
 * Decodes one character of UTF-8 (RFC 3629: no overlong forms, no surrogates,
 * at most U+10FFFF). Returns its length in bytes, 0 where it is not valid.
 * @s is terminated, so a truncated sequence ends at the terminator.
 */
static size_t decode(const unsigned char *s, uint32_t *cp)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;

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

static int is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) ||
	       (cp >= 0x2028 && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069) ||
	       cp == 0x200e || cp == 0x200f || cp == 0x061c || cp == 0xfeff;
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
		size_t n = decode(s, &cp), len = n;

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
