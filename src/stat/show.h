/* SPDX-License-Identifier: MIT */
/* The result of `ebprof stat` as a table, as JSON and as lines of values. */
#ifndef EBPROF_SHOW_H
#define EBPROF_SHOW_H

#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "stat/parts.h"
#include "stat/series.h"

struct stat_result {
	const struct measure *measures;	/* the first one is the time that passed */
	size_t n;
	const char *titles[2];		/* what was measured, clean; [1] NULL: one alone */
	size_t runs;			/* of each side */
	const struct stat_parts *parts;	/* NULL: counts are not told apart */
};

void stat_show_table(struct outfile *f, const struct stat_result *r);
void stat_show_json(struct outfile *f, const struct stat_result *r);
/*
 * As perf stat -x: value, unit, event, deviation in %, ns and share (%) of the time that it was
 * counted for, and two empty fields for what perf derives. The second side follows the first.
 */
void stat_show_values(struct outfile *f, const struct stat_result *r, const char *separator);

/* As programs read it: "ns", "bytes", "", or what the PMU says. */
const char *stat_unit(const struct measure *m);
/* Of a value as programs read it: counts are whole. */
int stat_decimals(const struct measure *m);
/* @value of @m with its unit: "12.3 ms", "4.5 MiB", "1,234". Returns @buf of @size bytes. */
const char *stat_value(const struct measure *m, double value, char *buf, size_t size);

#endif
