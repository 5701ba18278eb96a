/* SPDX-License-Identifier: MIT */
/*
 * One profile added to another: runs of the same programs to one profile of all,
 * or what two builds have in common, to be compared. Nothing of @src is kept: it may be
 * freed. Takes time and memory in proportion to @src.
 */
#ifndef EBPROF_MERGE_H
#define EBPROF_MERGE_H

#include <stdint.h>

#include "profile/copy.h"
#include "profile/profile.h"

/*
 * Adds @src's samples to @dst, values of type t to those of type @types[t], or nowhere where that
 * is PROFILE_NONE. Accounts add up. Of the description what both agree in stays, durations add up;
 * with COPY_NAMES it is the caller's business. Comments are added but with COPY_NAMES; ticks
 * never are, because each run has a time of its own.
 */
void profile_merge(struct profile *dst, const struct profile *src, const uint32_t *types,
		   enum copy_identity identity);
/*
 * The samples alone, with what belongs to them: nothing that no sample has, no account, and the
 * description is the caller's business. Types as of profile_merge_run().
 */
void profile_merge_samples(struct profile *dst, const struct profile *src,
			   enum copy_identity identity);
/*
 * Adds a run by COPY_PLACES. The first that is added to a new profile says which types there are
 * and which is shown; types of others meet them by name and unit, and what meets none is left out.
 */
void profile_merge_run(struct profile *dst, const struct profile *src);
/* The same, where the samples can be told apart by a label: @key, with @text for this run. */
void profile_merge_labelled(struct profile *dst, const struct profile *src, const char *key,
			    const char *text);

#endif
