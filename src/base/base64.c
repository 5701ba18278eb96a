/* SPDX-License-Identifier: MIT */
#include "base/base64.h"

#include <errno.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(char *text, const unsigned char *p, size_t n)
{
	size_t used = 0;

	for (size_t i = 0; i < n; i += 3) {
		unsigned int three = p[i] << 16 | (i + 1 < n ? p[i + 1] : 0) << 8 |
				     (i + 2 < n ? p[i + 2] : 0);

		text[used++] = digits[three >> 18];
		text[used++] = digits[three >> 12 & 63];
		text[used++] = i + 1 < n ? digits[three >> 6 & 63] : '=';
		text[used++] = i + 2 < n ? digits[three & 63] : '=';
	}
	return used;
}

static int digit(char c)
{
	const char *found = c ? memchr(digits, c, sizeof(digits) - 1) : NULL;

	return found ? (int)(found - digits) : -1;
}

int base64_decode(unsigned char *p, size_t *size, const char *text, size_t n)
{
	size_t padding = n && text[n - 1] == '=' ? 1 + (n > 1 && text[n - 2] == '=') : 0;

	*size = 0;
	if (n % 4)
		return -EBADMSG;
	for (size_t i = 0; i < n; i += 4) {
		unsigned int four = 0;
		size_t last = i + 4 == n ? padding : 0;

		for (size_t k = 0; k < 4; k++) {
			int value = k < 4 - last ? digit(text[i + k]) : 0;

			if (value < 0)
				return -EBADMSG;
			four = four << 6 | (unsigned int)value;
		}
		for (size_t k = 0; k < 3 - last; k++)
			p[(*size)++] = (unsigned char)(four >> (16 - 8 * k));
	}
	return 0;
}
