/* SPDX-License-Identifier: MIT */
/*
 * The files of this machine that a perf.data file speaks of, and whether the kernel that runs is
 * the one that was sampled. A file counts by its build id alone, or, where perf recorded none, by
 * device and inode. It is looked for where it was, then among the copies that `perf record` keeps
 * (~/.debug) and among what debuginfod has fetched.
 */
#ifndef EBPROF_PERF_DATA_IMAGES_H
#define EBPROF_PERF_DATA_IMAGES_H

#include "base/vec.h"
#include "elf/image.h"
#include "input/perf_data_tasks.h"

struct perf_data_images {
	struct perf_data_tasks *tasks;
	struct images *images;		/* borrowed */
	/* by image of the tasks: one of @images, plus 1; IMAGE_NONE: there is none; 0: not asked */
	VEC(uint32_t) opened;
	/* 1: the kernel that was sampled runs here, -1: it does not, 0: not looked at yet */
	int kernel;
	size_t looked;			/* how many of the tasks' kernels were */
	uint64_t slide;			/* what is to be added to its addresses */
	uint64_t start, end;		/* of its own code, as it was */
};

void perf_data_images_init(struct perf_data_images *all, struct perf_data_tasks *tasks,
			   struct images *images);
void perf_data_images_free(struct perf_data_images *all);

/* Image @i of the tasks; NULL: none can be known. Where its @fd is negative it has no file. */
const struct image *perf_data_image(struct perf_data_images *all, uint32_t i);
/* 1 where the kernel that runs is the one that was sampled; then @slide and so on are known. */
int perf_data_kernel_runs(struct perf_data_images *all);

#endif
