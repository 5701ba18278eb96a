/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file becomes a profile in two steps. What the file itself says: processes, stacks of
 * addresses, events. Then the addresses get their names, from files of this machine where these
 * are the very ones that were mapped, and from this kernel where it is the one that was sampled.
 */
#ifndef EBPROF_PERF_DATA_H
#define EBPROF_PERF_DATA_H

#include "input/input.h"
#include "input/perf_data_file.h"
#include "input/perf_data_images.h"
#include "input/perf_data_tasks.h"

/* Where the locations of the profile are; both by location. */
struct perf_data {
	struct perf_data_file file;
	struct room room;
	struct perf_data_tasks tasks;
	struct perf_data_images images;
	/* by location: an image of tasks, or one of these */
	VEC(uint32_t) places;
	VEC(struct perf_data_made) made;	/* code that processes made at run time */
	uint64_t samples;
	uint64_t copied;		/* of them, whose stacks perf has copied, */
	uint64_t cut;			/* that do not lead to their ends, */
	uint64_t left;			/* or could not be unwound at all */
	/* Images that have frames, but no file here; the first of them. */
	uint32_t missing, first_missing;
};

struct perf_data_made {
	uint32_t pid;
	uint32_t module;		/* of the profile */
};

#define PERF_DATA_IN_KERNEL UINT32_MAX
#define PERF_DATA_NOWHERE (UINT32_MAX - 1)	/* no mapping is known there */
#define PERF_DATA_MARK (UINT32_MAX - 2)		/* no code; it has its name */
/* from here to the above: in memory without a file, that one of @made */
#define PERF_DATA_MADE (1u << 31)		/* images of tasks are below */

/*
 * The first step, into an empty profile. Files are opened in @images, which is borrowed, for stacks
 * that perf has copied; NULL: these are not unwound. 0, or a negative errno with @e filled;
 * perf_data_free() in any case.
 */
int perf_data_parse(struct perf_data *d, struct profile *p, struct images *images,
		    const char *bytes, size_t n, struct error *e);
/* The second one: each location gets lines. 0, or -E2BIG with @e filled. */
int perf_data_name(struct perf_data *d, struct error *e);
void perf_data_free(struct perf_data *d);

#endif
