/* SPDX-License-Identifier: MIT */
/* Blocks of memory that are allocated and freed: probes on an allocator, or on our own library. */
#ifndef EBPROF_ALLOCATIONS_H
#define EBPROF_ALLOCATIONS_H

#include "alloc/alloc.h"
#include "alloc/alloc_links.h"
#include "alloc/alloc_queue.h"
#include "alloc/slicer.h"
#include "sources/source.h"

struct allocations_options {
	uint64_t min_age;		/* ns; what is younger at the end is not in use */
	int leaks;			/* what is still in use is shown */
	int inherit;			/* what the targets fork is followed, too */
	struct alloc_probes *probes;	/* borrowed */
	/* the time in which they are followed is bounded; NULL: it is not; borrowed */
	const struct slicer_options *slices;
};

struct source *allocations_new(const struct allocations_options *o);

extern const struct source_ops allocations_ops;

/* Below: for the two halves of this source. */
struct allocations {
	struct source source;
	struct allocations_options o;
	struct alloc *alloc;
	struct alloc_queue queue;
	struct slicer *slicer;		/* NULL: they are followed all the time */
	struct alloc_links *links;	/* NULL: the probes are perf events, or not attached */
};

extern const struct collector_part_ops allocations_kernel;

#endif
