/* SPDX-License-Identifier: MIT */
/* Blocks of memory that are allocated and freed: probes on an allocator, or on our own library. */
#ifndef EBPROF_ALLOCATIONS_H
#define EBPROF_ALLOCATIONS_H

#include "alloc/alloc.h"
#include "alloc/alloc_library.h"
#include "alloc/alloc_links.h"
#include "alloc/alloc_load.h"
#include "alloc/alloc_queue.h"
#include "slices/slicer.h"
#include "sources/overhead.h"
#include "sources/source.h"

#define ALLOC_ALL UINT64_MAX

struct source_options;

struct allocations_options {
	int on;				/* allocations are followed */
	uint64_t interval;		/* bytes a sample; ALLOC_ALL: every block */
	string_vec allocators;		/* PATH:PREFIX, not looked at yet */
	int leaks;			/* what is still in use is shown */
	/* It goes on: what is in use at a time is asked for, and no end or peak of all. */
	int windows;
	uint64_t min_age;		/* ns; what is younger at the end is not in use */
	/* % of the time of a process's threads, or OVERHEAD_NONE: no bound; 0: the default */
	double max_overhead;
};

/* @o is borrowed. */
struct source *allocations_new(const struct allocations_options *o);

/* Of its ops. */
int allocations_check(struct source_options *o, struct stack_options *stack, struct error *e);
int allocations_choose(struct source_options *o, struct source **s, struct error *e);
/*
 * Finds the places of the probes; sets them, where that is not done later by links; says what they
 * cost.
 */
int allocations_prepare(struct source *s, const struct source_setup *setup, struct error *e);
void allocations_environment(const struct source *s, char *env[SOURCE_ENVIRONMENT_MAX]);

extern const struct source_ops allocations_ops;

/* Below: for the two halves of this source. */
struct allocations {
	struct source source;
	const struct allocations_options *o;
	int inherit;			/* what the targets fork is followed, too */
	struct alloc_library library;	/* for a command */
	struct alloc_probes probes;
	struct alloc_price price;
	struct alloc_load load;		/* of the processes, before it starts */
	struct slices slices;		/* where the probes are paused: their time is bounded */
	/*
	 * what traps add to a call that gives a block, and to one that only takes one back, without
	 * the programs on them
	 */
	double call_ns, end_ns;
	struct ebp_counters counters;	/* when the slicer last asked */
	struct alloc *alloc;
	uint32_t first, types;		/* of the profile: where enum alloc_type begins, how many */
	struct alloc_queue queue;
	struct slicer *slicer;		/* NULL: they are followed all the time */
	struct alloc_links *links;	/* NULL: the probes are perf events, or not attached */
};

extern const struct collector_part_ops allocations_kernel;
extern const struct slicer_ops allocations_slices;
extern const struct feature allocations_feature;

#endif
