/* SPDX-License-Identifier: MIT */
/* The records that `perf record -z` compressed: one stream of zstd in many records. */
#ifndef EBPROF_PERF_DATA_UNPACK_H
#define EBPROF_PERF_DATA_UNPACK_H

#include "input/perf_data_file.h"

struct perf_data_unpack;

/* Takes the next part of the stream; *@u is made at the first. 0, -EBADMSG, -EFBIG or -ENOMEM. */
int perf_data_unpack(struct perf_data_unpack **u, struct perf_data_file *f, struct slice part);
/* Takes NULL. */
void perf_data_unpack_free(struct perf_data_unpack *u);

#endif
