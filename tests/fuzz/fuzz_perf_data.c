/* SPDX-License-Identifier: MIT */
/*
 * perf.data of any bytes: samples add up. Names are left out, for they are of files of this
 * machine.
 */
#include <stdint.h>
#include <stdlib.h>

#include "input/perf_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new();
	struct perf_data d;
	struct error e;
	uint64_t ticks = 0;

	if (!perf_data_parse(&d, p, NULL, (const char *)data, size, &e)) {
		struct profile_view v = profile_view(p);

		for (size_t i = 0; i < v.nticks; i++)
			ticks += v.ticks[i].value;
		if (v.nticks && ticks != v.types[0].total)
			abort();
		if (d.places.n != v.nlocations)
			abort();
	}
	perf_data_free(&d);
	profile_free(p);
	return 0;
}
