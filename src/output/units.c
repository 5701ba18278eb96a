/* SPDX-License-Identifier: MIT */
#include "output/units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Of each unit the smallest first. */
static const struct {
	const char *unit;
	struct units shown;
} known[] = {
	{ "nanoseconds", { "MS", "ms", 1000000, 3 } },
	{ "nanoseconds", { "S", "s", 1000000000, 3 } },
	{ "nanoseconds", { "S", "s", 1000000000, 0 } },
	{ "microseconds", { "MS", "ms", 1000, 3 } },
	{ "microseconds", { "S", "s", 1000000, 3 } },
	{ "microseconds", { "S", "s", 1000000, 0 } },
	{ "bytes", { "KIB", "KiB", 1024, 1 } },
	{ "bytes", { "MIB", "MiB", 1u << 20, 1 } },
	{ "bytes", { "GIB", "GiB", 1u << 30, 1 } },
};

struct units units_fitting(const struct profile *p, int width)
{
	struct profile_view v = profile_view(p);
	const struct sample_type *t = &v.types[v.shown];
	struct units fit = { strcmp(profile_text(p, t->name), "samples") ? "COUNT" : "SAMPLES", "",
			     1, 0 };
	char buf[64];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(profile_text(p, t->unit), known[i].unit))
			continue;
		if (fit.divisor != 1 &&
		    (int)strlen(units_print(&fit, v.total, buf, sizeof(buf))) <= width)
			break;
		fit = known[i].shown;
	}
	return fit;
}

struct units units_of(const struct profile *p)
{
	return units_fitting(p, INT_MAX);
}

const char *units_print(const struct units *u, uint64_t value, char *buf, size_t size)
{
	if (u->divisor == 1)
		snprintf(buf, size, "%" PRIu64, value);
	else
		snprintf(buf, size, "%.*f", u->digits, (double)value / u->divisor);
	return buf;
}
