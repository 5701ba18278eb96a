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

struct perf_data_frame {
	uint64_t address;
	uint32_t side;				/* whose it is; of perf_data_frames.c */
	uint32_t node;				/* that of it and all behind it, once known */
};

typedef VEC(struct perf_data_frame) perf_data_stack;

#define PERF_DATA_RECENT 128			/* stacks that are kept; a power of two */

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
	perf_data_stack stack;			/* of the sample that is read, from the leaf */
	/* The last ones of some processes: the next one is often the same but for its leaves. */
	struct perf_data_recent {
		perf_data_stack stack;
		uint32_t generation;		/* of the process's mappings */
	} recent[PERF_DATA_RECENT];
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
