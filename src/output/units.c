/* SPDX-License-Identifier: MIT */
#include "output/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct units units_of(const struct profile *p)
{
	static const struct { const char *unit; struct units shown; } units[] = {
		{ "nanoseconds", { "MS", 1000000, 3 } }, { "microseconds", { "MS", 1000, 3 } },
		{ "bytes", { "KIB", 1024, 1 } },
	};
	struct profile_view v = profile_view(p);
	const struct sample_type *t = &v.types[v.shown];

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(profile_text(p, t->unit), units[i].unit))
			return units[i].shown;
	return (struct units){ strcmp(profile_text(p, t->name), "samples") ? "COUNT" : "SAMPLES", 1, 0 };
}

const char *units_print(const struct units *u, uint64_t value, char *buf, size_t size)
{
	if (u->divisor == 1)
		snprintf(buf, size, "%" PRIu64, value);
	else
		snprintf(buf, size, "%.*f", u->digits, (double)value / u->divisor);
	return buf;
}
