/* SPDX-License-Identifier: MIT */
/* What each thread, process, CPU or cgroup had, behind the sums: in the formats of show.h. */
#ifndef EBPROF_SHOW_PARTS_H
#define EBPROF_SHOW_PARTS_H

#include "base/json.h"
#include "stat/show.h"

/* All have r->parts, and of the measures those that are events. */
void stat_parts_table(struct outfile *f, const struct stat_result *r);
void stat_parts_json(struct json *j, const struct stat_result *r);
/*
 * As perf stat --per-thread -x: the name before the fields of stat_show_values(); @elapsed in ns.
 */
void stat_parts_values(struct outfile *f, const struct stat_result *r, double elapsed,
		       const char *separator);
/* One line for each part and event that counted anything since @before, at @seconds. */
void stat_parts_interval(const struct stat_parts *now, const struct stat_parts *before,
			 const struct measure *measures, size_t n, double seconds);

#endif
