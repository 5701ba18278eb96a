/* SPDX-License-Identifier: MIT */
/* Blocks of memory that are allocated and freed: probes on an allocator, or on our own library. */
#ifndef EBPROF_ALLOCATIONS_H
#define EBPROF_ALLOCATIONS_H

#include "alloc/alloc_links.h"
#include "collect/collector.h"

struct allocations {
	struct alloc_probes *probes;	/* borrowed */
	struct alloc_links *links;	/* NULL: @probes has perf events, or it is not attached */
};

/* Their context is a struct allocations, of which @probes is filled. */
extern const struct collector_part_ops allocations_kernel;

#endif
