/* SPDX-License-Identifier: MIT */
/*
 * Cleaning text: whatever goes in, what comes out is terminated, valid UTF-8
 * without control characters, and clean text stays as it is. Fitting it keeps
 * within its columns and its buffer, and cuts no character.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fuzz/fuzz.h"

/* Written from RFC 3629's grammar, and not like the decoder that is tested. */
static void require_utf8(const unsigned char *s)
{
	while (*s) {
		unsigned char lowest = 0x80, highest = 0xbf;
		int more = 0;

		require(*s >= 0x20 && *s != 0x7f);
		if (*s >= 0x80) {
			require(*s >= 0xc2 && *s <= 0xf4);
			more = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;
			/* Below c2 a0 are the C1 controls. */
			lowest = *s == 0xe0 || *s == 0xc2 ? 0xa0 : *s == 0xf0 ? 0x90 : 0x80;
			highest = *s == 0xed ? 0x9f : *s == 0xf4 ? 0x8f : 0xbf;
		}
		for (s++; more--; s++) {
			require(*s >= lowest && *s <= highest);
			lowest = 0x80;
			highest = 0xbf;
		}
	}
}

static void check_fit(const char *clean, size_t size, size_t columns)
{
	char *out = malloc(size), *again = malloc(size);

	if (out && again) {
		text_fit(out, size, clean, columns);
		require(strnlen(out, size) < size);
		require(text_width(out) <= columns);
		require_utf8((unsigned char *)out);
		if (strlen(clean) < size && text_width(clean) <= columns)
			require(!strcmp(out, clean));
		text_fit(again, size, out, columns);
		require(!strcmp(out, again));
	}
	free(out);
	free(again);
}

/* The first byte is the buffer's size, the second the columns. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room, columns, n, most;
	char *src, *out, *again;

	if (size < 2)
		return 0;
	room = data[0] + 1u;
	columns = data[1];
	most = 8 * size + 1;	/* no byte becomes more than an escape of 8 bytes */
	src = malloc(size);
	out = malloc(most);
	again = malloc(most);
	if (src && out && again) {
		memcpy(src, data + 2, size - 2);
		src[size - 2] = '\0';
		n = text_clean(out, most, src);
		require(n < most && strlen(out) == n);
		require_utf8((unsigned char *)out);
		require(text_clean(again, most, out) == n && !strcmp(out, again));
		check_fit(out, room, columns);
		/* In less room it is the beginning of the same. */
		require(room > most || text_clean(again, room, src) < room);
		require(room > most || !strncmp(out, again, strlen(again)));
	}
	free(src);
	free(out);
	free(again);
	return 0;
}
