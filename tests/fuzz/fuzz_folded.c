/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks of any bytes: what is taken is written, and reading that gives the same once more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/written.h"
#include "input/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile *read_text(const char *text, size_t n)
{
	struct profile *p = profile_new();
	struct error e;

	if (!folded_read(p, text, n, &(struct input_notes){ 0 }, &e))
		return p;
	profile_free(p);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct output_options annotate = { .annotate = 1 };
	struct profile *p, *again;
	char *text, *same;

	if (!size)
		return 0;
	folded_looks((const char *)data, size);
	p = read_text((const char *)data, size);
	if (!p)
		return 0;
	text = written(p, "folded", &annotate);
	again = read_text(text, strlen(text));
	if (!*text != !profile_view(p).total)
		abort();
	if (!again || profile_view(again).total != profile_view(p).total)
		abort();
	same = written(again, "folded", &annotate);
	if (strlen(same) > strlen(text))
		abort();
	free(same);
	free(text);
	profile_free(again);
	profile_free(p);
	return 0;
}
