/* SPDX-License-Identifier: MIT */
/* What the events of a perf.data file are called, and what else it says of the recording. */
#ifndef EBPROF_PERF_DATA_EVENTS_H
#define EBPROF_PERF_DATA_EVENTS_H

#include "input/perf_data_file.h"

/* Gives each event a name, where the file has none: as perf calls it. */
void perf_data_name_events(struct perf_data_file *f);
/* Fills what the profile says of the recording, whose samples are from @begin to @end. */
void perf_data_describe(const struct perf_data_file *f, struct profile *p, uint64_t begin,
			uint64_t end);

#endif
