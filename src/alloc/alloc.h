/* SPDX-License-Identifier: MIT */
/*
 * Blocks of memory from their allocation to their end: what each place
 * allocated, what of it is still there, and what there was at the peak.
 *
 * Fed with records in the order in which they happened. A block was sampled with the probability
 * p = 1 - exp(-size / interval), so it stands for 1 / p blocks of its size: every sum is unbiased.
 * A *site* is what the caller says is one place: records whose keys differ may be of the same.
 * Memory ends with its process; what was not freed by then counts as in use at the end, unless only
 * what is alive is asked for. Times are CLOCK_MONOTONIC ns.
 */
#ifndef EBPROF_ALLOC_H
#define EBPROF_ALLOC_H

#include <stdint.h>

#include "bpf/ebprof.h"

/* What is known of a site; the sample types of the profile, in this order. */
enum alloc_type {
	ALLOC_OBJECTS, ALLOC_SPACE,	/* all that was allocated */
	INUSE_OBJECTS, INUSE_SPACE,	/* of it never freed */
	PEAK_OBJECTS, PEAK_SPACE,	/* alive when all sites together had most bytes (t-gmax) */
	MAX_OBJECTS, MAX_SPACE,		/* alive when this one had most bytes */
	LIFETIME,			/* ns, summed over all blocks */
	ALLOC_TYPES,
};

struct alloc_type_name { const char *name, *unit; };
extern const struct alloc_type_name alloc_types[ALLOC_TYPES];

struct alloc_options {
	uint64_t interval;	/* bytes a sample; 0: every block was taken */
	uint64_t min_age;	/* ns; what is younger at the end is not in use */
	int per_thread;		/* threads of one name are told apart */
	int alive;		/* what a process has when it ends is not in use any more */
	/* The caller's number of the site of @key; called once for each key that differs. */
	uint32_t (*site)(void *ctx, const struct ebp_key *key, uint64_t time);
	void *ctx;
};

struct alloc;

struct alloc *alloc_new(const struct alloc_options *o);
void alloc_free(struct alloc *a);

/*
 * From now on a block counts @times as often: it was allocated in a part of the time, which stands
 * for so much more of it.
 */
void alloc_scale(struct alloc *a, double times);
/*
 * All sums, of what was and what will be, count @times as much: of some blocks it is known only
 * that there were any.
 */
void alloc_scale_all(struct alloc *a, double times);
/* From now on no end of a block is told: only what was allocated is known. */
void alloc_endless(struct alloc *a);
void alloc_block(struct alloc *a, const struct ebp_allocation *block);
void alloc_freed(struct alloc *a, const struct ebp_allocation_end *end);
/* The process of @end has exited. */
void alloc_gone(struct alloc *a, const struct ebp_allocation_end *end);

/* Called for each site, by the caller's number, with all its values. */
typedef void alloc_site(void *ctx, uint32_t site, const uint64_t values[ALLOC_TYPES]);
/* As it is now: what is alive is in use, and has no lifetime yet. */
void alloc_values(const struct alloc *a, alloc_site *fn, void *ctx);
/* Once, when no more records come: what is alive has lived until @end. */
void alloc_finish(struct alloc *a, uint64_t end, alloc_site *fn, void *ctx);
/* The time of t-gmax; 0: nothing was ever allocated. */
uint64_t alloc_peak(const struct alloc *a);
/* Blocks whose end was not followed, because there were too many at one time. */
uint64_t alloc_untracked(const struct alloc *a);

#endif
