/* SPDX-License-Identifier: MIT */
#include "output/units.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Of each unit the smallest first. */
static const struct {
	enum profile_unit unit;
	struct units shown;
} known[] = {
	{ PROFILE_NANOSECONDS, { "MS", "ms", 1000000, 3 } },
	{ PROFILE_NANOSECONDS, { "S", "s", 1000000000, 3 } },
	{ PROFILE_NANOSECONDS, { "S", "s", 1000000000, 0 } },
	{ PROFILE_MICROSECONDS, { "MS", "ms", 1000, 3 } },
	{ PROFILE_MICROSECONDS, { "S", "s", 1000000, 3 } },
	{ PROFILE_MICROSECONDS, { "S", "s", 1000000, 0 } },
	{ PROFILE_BYTES, { "KIB", "KiB", 1024, 1 } },
	{ PROFILE_BYTES, { "MIB", "MiB", 1u << 20, 1 } },
	{ PROFILE_BYTES, { "GIB", "GiB", 1u << 30, 1 } },
};

struct units units_fitting(const struct profile *p, int width)
{
	struct profile_view v = profile_view(p);
	const struct profile_type *t = &v.types[v.shown];
	struct units fit = { t->words->role == PROFILE_SAMPLES ? "SAMPLES" : "COUNT", "", 1, 0 };
	char buf[64];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (t->measured_in != known[i].unit)
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
