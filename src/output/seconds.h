/* SPDX-License-Identifier: MIT */
/* Rows of a profile with a timeline, one a second of the recording. */
#ifndef EBPROF_SECONDS_H
#define EBPROF_SECONDS_H

#include "output/columns.h"

/*
 * Each with what was sampled in it (values of the type that is shown), and the function that took
 * most of that by itself, with its image. Of what lasted longer each second has its part. In the
 * order of time, up to the last second with a sample; none without a timeline.
 */
row_vec seconds_rows(const struct profile *p);

#endif
