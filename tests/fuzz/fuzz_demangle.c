/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"
#include "symbols/short_templates.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void shorten(const char *name)
{
	size_t size = strlen(name) + 4;
	char *out = malloc(size);

	if (short_templates(name, out, size) && strlen(out) >= size)
		abort();
	free(out);
}

/* Once with room enough, once with too little: the ways out are others. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t sizes[] = { 8192, 64 };
	char *raw = malloc(size + 1);

	memcpy(raw, data, size);
	raw[size] = '\0';
	for (int i = 0; i < 2; i++) {
		char *out = malloc(sizes[i]);

		demangle(NULL, raw, out, sizes[i]);
		if (strlen(out) >= sizes[i])
			abort();
		shorten(out);
		free(out);
	}
	free(raw);
	return 0;
}
