/* SPDX-License-Identifier: MIT */
/* The probes of allocations, as the slicer sets them. */
#include "sources/allocations.h"

static int resume(void *ctx)
{
	return alloc_links_resume(((struct allocations *)ctx)->links);
}

static void pause_calls(void *ctx)
{
	alloc_links_pause(((struct allocations *)ctx)->links);
}

static int list_threads(void *ctx, thread_list_entry *fn, void *fn_ctx)
{
	return alloc_links_threads(((struct allocations *)ctx)->links, fn, fn_ctx);
}

static void passed(void *ctx, int endless, struct slice_passed *p)
{
	struct allocations *a = ctx;
	struct ebp_counters was = a->counters;
	double resizes;

	collector_counters(a->source.host->collector, &a->counters);
	resizes = (double)(a->counters.alloc_resizes - was.alloc_resizes);
	p->call_ns = a->call_ns;
	p->each_ns = a->call_ns + 2 * ALLOC_PROGRAM_NS;
	p->calls = (double)(a->counters.alloc_calls - was.alloc_calls) + (endless ? resizes : 0);
	p->cost = p->calls * a->call_ns;
	p->ends = (a->end_ns + ALLOC_PROGRAM_NS) *
			  (double)(a->counters.alloc_ends - was.alloc_ends) +
		  (endless ? 0 : p->each_ns * resizes);
}

static void give_up_ends(void *ctx)
{
	alloc_links_give_up_ends(((struct allocations *)ctx)->links);
}

const struct slicer_ops allocations_slices = {
	.resume = resume,
	.pause = pause_calls,
	.threads = list_threads,
	.passed = passed,
	.give_up_ends = give_up_ends,
};
