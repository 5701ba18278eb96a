/* SPDX-License-Identifier: MIT */
/*
 * The stacks that perf has copied (--call-graph dwarf): unwound by the unwinder of recordings, with
 * the tables of the files that were mapped, as far as these are on this machine.
 */
#ifndef EBPROF_PERF_DATA_STACKS_H
#define EBPROF_PERF_DATA_STACKS_H

#include "input/perf_data_images.h"
#include "input/perf_data_sample.h"
#include "unwind/step/step.h"

struct perf_data_stacks;

/* @images is borrowed. NULL where there is no memory for it. */
struct perf_data_stacks *perf_data_stacks_new(struct perf_data_images *images);
void perf_data_stacks_free(struct perf_data_stacks *s);

/*
 * Fills @out with the user's frames of @sample, a sample of @process, from the leaf: 0, or
 * -ENOTSUP: its registers are those of another kind of program than this one is.
 */
int perf_data_stacks_unwind(struct perf_data_stacks *s, const struct perf_data_process *process,
			    const struct perf_data_sample *sample, struct unwind_result *out);
/* Which image of the tasks the image of a frame is. */
uint32_t perf_data_stacks_image(const struct perf_data_stacks *s, uint32_t image);

#endif
