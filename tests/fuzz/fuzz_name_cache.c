/* SPDX-License-Identifier: MIT */
/* Kept names of any bytes, with the sum put right; what was read is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/text.h"
#include "symbols/name_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY	"key", 3	/* as in the seeds */
#define SUM_AT	12

static void check(const struct symbol_frame *f)
{
	char again[16384];

	if (!*f->name || text_clean(again, sizeof(again), f->name) != strlen(f->name) ||
	    strcmp(again, f->name) != 0)
		abort();
}

/* How many of the first offsets have an answer; all right ones. */
static int look_up(struct name_cache *c)
{
	struct symbol_frame out[SOURCE_FRAMES_MAX];
	uint64_t start;
	int found = 0;

	for (uint64_t offset = 0; offset < 4096; offset++) {
		int n = name_cache_find(c, offset, out);

		if (n > SOURCE_FRAMES_MAX)
			abort();
		if (name_cache_start(c, offset, &start) && (n > 0 || start > offset))
			abort();
		for (int i = 0; i < n; i++)
			check(&out[i]);
		found += n != 0;
	}
	return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strtab *names = strtab_new();
	struct name_cache *c = name_cache_new(names), *again = name_cache_new(names);
	uint8_t *bytes = malloc(size + 1), *written;
	uint32_t sum;
	size_t n;

	memcpy(bytes, data, size);
	if (size >= SUM_AT + 4) {
		sum = (uint32_t)crc32(0, bytes + SUM_AT + 4, (uInt)(size - SUM_AT - 4));
		memcpy(bytes + SUM_AT, &sum, 4);
	}
	if (!name_cache_read(c, bytes, size, KEY)) {
		int found = look_up(c);

		written = name_cache_write(c, KEY, &n);
		if (name_cache_read(again, written, n, KEY) || look_up(again) != found)
			abort();
		free(written);
	}
	free(bytes);
	name_cache_free(c);
	name_cache_free(again);
	strtab_free(names);
	return 0;
}
