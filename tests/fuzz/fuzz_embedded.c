/* SPDX-License-Identifier: MIT */
/*
 * A profile inside a page or JSON of any bytes: what is read can be shown, and comes back from each
 * such format.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/written.h"
#include "input/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new(), *again;
	char *text, *stacks, *same;
	struct error e = { 0 };
	int err;

	embedded_looks((const char *)data, size);
	err = embedded_read(p, (const char *)data, size, &(struct input_notes){ 0 }, &e);
	if (err ? err > 0 || !*e.text : *e.text)
		abort();
	if (!err) {
		again = profile_new();
		text = written(p, "json", &(struct output_options){ 0 });
		if (!embedded_looks(text, strlen(text)) ||
		    embedded_read(again, text, strlen(text), &(struct input_notes){ 0 }, &e))
			abort();
		stacks = written(p, "folded", &(struct output_options){ 0 });
		same = written(again, "folded", &(struct output_options){ 0 });
		if (strcmp(stacks, same))
			abort();
		free(text);
		free(stacks);
		free(same);
		profile_free(again);
	}
	profile_free(p);
	return 0;
}
