/* SPDX-License-Identifier: MIT */
/*
 * The text of perf script, of any bytes: samples add up, and everything that is read can be shown.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/written.h"
#include "input/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new();
	struct profile_view v;
	struct error e;
	uint64_t ticks = 0;

	if (size)
		perf_script_looks((const char *)data, size);
	if (!size ||
	    perf_script_read(p, (const char *)data, size, &(struct input_notes){ 0 }, &e)) {
		profile_free(p);
		return 0;
	}
	v = profile_view(p);
	for (size_t i = 0; i < v.nticks; i++)
		ticks += v.ticks[i].value;
	if (v.nticks && ticks != v.types[0].total)
		abort();
	for (size_t i = 0; i < v.ntypes; i++) {
		profile_show(p, (uint32_t)i);
		free(written(p, "top", &(struct output_options){ .columns = 80 }));
	}
	profile_free(p);
	return 0;
}
