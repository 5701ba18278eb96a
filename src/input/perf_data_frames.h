/* SPDX-License-Identifier: MIT */
/*
 * From a sample of a perf.data file to its node in the profile. The kernel's frames come from the
 * call chain; those of the user from what perf was asked to take: the same chain, a copy of the
 * stack, the calls that the CPU kept, or a record that comes when the thread leaves the kernel.
 */
#ifndef EBPROF_PERF_DATA_FRAMES_H
#define EBPROF_PERF_DATA_FRAMES_H

#include "bpf/ebprof.h"
#include "input/perf_data.h"
#include "input/perf_data_sample.h"
#include "input/perf_data_stacks.h"

/* All zeros but @d, @p and @images: nothing was met. */
struct perf_data_frames {
	struct perf_data *d;
	struct profile *p;
	struct perf_data_images *images;	/* NULL: copies are not unwound */
	struct perf_data_stacks *stacks;	/* NULL before the first copy */
	/* what was met, by the process's mappings: an address -> location, a chain -> node */
	struct hashmap locations, nodes;
	struct hashmap made;			/* incarnation -> what it made, of @d */
	/* cookie -> record with the frames that came later, an index of the file's */
	struct hashmap deferred;
	VEC(uint32_t) stack;			/* locations, from the leaf */
	struct unwind_result unwound;
	uint64_t results[EBP_RESULTS];		/* samples whose copies were unwound, by the end */
	uint64_t left;				/* samples whose copies could not be */
	uint32_t kernel_module;
};

/* Takes note of a PERF_DATA_DEFERRED record: @i of the file's records. */
void perf_data_frames_defer(struct perf_data_frames *f, uint32_t i);
/* The node of @s, whose record is @record. */
uint32_t perf_data_frames_node(struct perf_data_frames *f, const struct perf_data_sample *s,
			       const uint8_t *record);
void perf_data_frames_free(struct perf_data_frames *f);

#endif
