/* SPDX-License-Identifier: MIT */
/* What a perf.data file says of the machine and the command: its features. */
#ifndef EBPROF_PERF_DATA_FEATURES_H
#define EBPROF_PERF_DATA_FEATURES_H

#include "input/perf_data_file.h"

/* Takes feature @id, which is @body; what is not understood, or damaged, is left out. */
void perf_data_feature(struct perf_data_file *f, uint64_t id, struct slice body);
/* Takes a record that has a build id. */
void perf_data_take_build_id(struct perf_data_file *f, struct slice record);

#endif
