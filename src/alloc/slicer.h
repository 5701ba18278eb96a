/* SPDX-License-Identifier: MIT */
/*
 * Carries out the slices of `ebprof alloc -p PID --max-overhead` (alloc/alloc_slices.h): sets
 * probes and takes them away when it is time, measures what the processes did, and tells how often
 * a block counts. All take NULL: all is sampled.
 */
#ifndef EBPROF_SLICER_H
#define EBPROF_SLICER_H

#include <stdint.h>
#include <sys/types.h>

#include "alloc/alloc_links.h"
#include "alloc/alloc_slices.h"
#include "collect/collector.h"

struct slicer;

struct slicer_options {
	struct alloc_slices slices;	/* as alloc_slices_begin() left it */
	/*
	 * what traps add to a call that gives a block, and to one that only takes one back, without
	 * the programs on them
	 */
	double call_ns, end_ns;
};

struct slicer_result {
	uint64_t slices;		/* 0: there were none */
	/* times that probes could not be set again: what was allocated then is missing */
	uint64_t failed;
	/* ns that calls were sampled, in slices and in cycles that had no end to them */
	uint64_t open;
	int all;			/* it was never necessary to take the probes away */
	int endless;			/* frees were not seen, or not all the time */
	/* the part that probes took in slices of the CPU time of threads that allocate */
	double traps;
	/* by such a share of the truth the sums may be wrong: by that, and by chance */
	double error;
	/* cost of all probes, as a share of the CPU time that these threads use themselves */
	double overhead;
};

/* When the collector runs, with probes set by @links; begins the first cycle. */
struct slicer *slicer_new(struct collector *c, struct alloc_links *links,
			  const struct slicer_options *o);
void slicer_free(struct slicer *s);

/* The time of the next change, or @until where that comes first; it is made by slicer_turn(). */
uint64_t slicer_until(const struct slicer *s, uint64_t until);
void slicer_turn(struct slicer *s, uint64_t now);
/* The end of the last slice. */
void slicer_stop(struct slicer *s);
/*
 * 1 where it is not known yet how often a block of @time counts: the slice after its own has not
 * begun.
 */
int slicer_holds(const struct slicer *s, uint64_t time);
/* How often it counts, if thread @tid allocated it. */
double slicer_scale(struct slicer *s, uint64_t time, uint32_t tid);
/* After the end: what no slice stands for, as a share of all that was counted. */
double slicer_owed(const struct slicer *s);
/* 1 where frees are not seen, or not any more. */
int slicer_endless(const struct slicer *s);
void slicer_tell(const struct slicer *s, struct slicer_result *r);

#endif
