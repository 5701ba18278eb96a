/* SPDX-License-Identifier: MIT */
/*
 * Two profiles compared, function by function: what changed, by how much, and how sure that is.
 *
 * Each side is one run or several. All are merged by names (profile/merge.h) into one profile whose
 * first two types are "before" and "after". A run's values are divided by its *exposure*, which
 * makes runs comparable:
 *
 *	DIFF_SAMPLES	its total: rates are shares of all samples. Needs nothing but the samples;
 *			neither how long and how often was sampled nor how much load there was
 *			makes a difference. The default.
 *	DIFF_SECONDS	its samples a CPU-second (of a type in nanoseconds, or the frequency) times
 *			its duration: rates are CPUs kept busy. For a load that is the same on both
 *			sides.
 *	DIFF_NONE	the mean total of before: rates are counts, as shares of all that was
 *			before. For runs that did the same work from start to end at the same
 *			frequency. As with seconds, all can become slower.
 *
 * One run on each side: samples are counts, binomial as shares and else Poisson's
 * (profile/stats.h). That covers the noise of sampling and not what differs from run to run. With
 * several, the spread of their rates shows both (Welch). It is taken to be no less than that of
 * counts, because two runs may be alike by chance. A side of one run has the other's in proportion.
 * Values that are no counts of samples (bytes) have nothing but the spread: with one run on a side
 * no interval is known.
 *
 * Thousands of functions are tested, of which one in twenty would pass for changed. So
 * "significant" are those where the share of false ones is DIFF_FALSE at most, of self and of
 * total. Functions with fewer than DIFF_LEAST samples are not tested at all: they could not pass,
 * and would only raise the hurdle for others. Intervals are of 95 % each.
 */
#ifndef EBPROF_DIFF_H
#define EBPROF_DIFF_H

#include "base/error.h"
#include "profile/profile.h"

#define DIFF_FALSE 0.05
#define DIFF_LEAST 5

enum diff_normalize { DIFF_SAMPLES, DIFF_SECONDS, DIFF_NONE };
enum diff_side { DIFF_BEFORE, DIFF_AFTER };

/* Rates: 0.05 is 5 %. */
struct diff_row {
	/* of the merged profile; nfunctions: frames without one; PROFILE_NONE: no stack */
	uint32_t function;
	double rate[2];		/* by side; the mean of its runs */
	double count[2];	/* values of all its runs */
	double low, high;	/* interval of after - before; not finite: not known */
	/* that chance alone makes such a difference; 1 where it was not tested */
	double p;
	int significant;
};

/* Significant rows first, then others, both with the largest change first. */
struct diff_list {
	struct diff_row *rows;
	size_t n, significant;
};

struct diff;

/*
 * For so many runs by side, at least 1 each; they are added in any order, each freed by the caller
 * afterwards.
 */
struct diff *diff_new(enum diff_normalize normalize, const size_t runs[2]);
void diff_free(struct diff *d);
/*
 * Adds a run. -ENODATA where it has no samples, -EINVAL where it does not say what @normalize needs
 * or measures another thing than the others, with @e filled (the text does not name the run).
 */
int diff_add(struct diff *d, enum diff_side side, const struct profile *run, struct error *e);
/* When all are added: fills the lists and completes the profile. */
void diff_compare(struct diff *d);

/* What ends in a function, and what has it anywhere on the stack. */
const struct diff_list *diff_self(const struct diff *d);
const struct diff_list *diff_total(const struct diff *d);
/* The merged one; before's values times the weight compare with after's. */
struct profile *diff_profile(const struct diff *d);
double diff_weight(const struct diff *d);
enum diff_normalize diff_normalized(const struct diff *d);
/* Whether the values are counts of samples; the unit they have. */
int diff_counted(const struct diff *d);
const char *diff_unit(const struct diff *d);
double diff_change(const struct diff_row *r);

#endif
