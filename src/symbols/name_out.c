/* SPDX-License-Identifier: MIT */
#include "symbols/name_out.h"

#include <string.h>

void name_out_bytes(struct name_out *o, const char *p, size_t n)
{
	if (o->failed || o->silent)
		return;
	if (n >= o->size - o->len) {
		o->failed = 1;
		return;
	}
	memcpy(o->dst + o->len, p, n);
	o->len += n;
}

void name_out_text(struct name_out *o, const char *text)
{
	name_out_bytes(o, text, strlen(text));
}

void name_out_char(struct name_out *o, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		o->failed = 1;
		return;
	}
	for (size_t i = n; i-- > 1; c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(n == 1 ? c : c | (0xf00u >> n & 0xff));
	name_out_bytes(o, b, n);
}

size_t name_out_end(struct name_out *o)
{
	if (o->failed || !o->len)
		return 0;
	o->dst[o->len] = '\0';
	return o->len;
}
