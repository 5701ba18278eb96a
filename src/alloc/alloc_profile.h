/* SPDX-License-Identifier: MIT */
/*
 * The values of places that allocate, as the profile has them: again and again while somebody
 * looks, and at the end.
 */
#ifndef EBPROF_ALLOC_PROFILE_H
#define EBPROF_ALLOC_PROFILE_H

#include "alloc/alloc.h"
#include "profile/profile.h"

/* A type of @p, which is new, for each of enum alloc_type, by the same numbers. */
void alloc_profile_types(struct profile *p, int leaks);
/* Sets the values of all sites of @a, whose numbers are samples of @p, to those of now. */
void alloc_profile_update(struct profile *p, const struct alloc *a);
/* The same at the end (alloc_finish()). */
void alloc_profile_finish(struct profile *p, struct alloc *a, uint64_t end);

#endif
