/* SPDX-License-Identifier: MIT */
/*
 * The values of places that allocate, as the profile has them: again and again while somebody
 * looks, and at the end.
 */
#ifndef EBPROF_ALLOC_PROFILE_H
#define EBPROF_ALLOC_PROFILE_H

#include "alloc/alloc.h"
#include "profile/profile.h"

/*
 * Sets the values of all sites of @a, whose numbers are samples of @p, to those of now. @first: the
 * first one of @p's types for enum alloc_type, of which it has @types, one after another.
 */
void alloc_profile_update(struct profile *p, uint32_t first, uint32_t types,
			  const struct alloc *a);
/* The same at the end (alloc_finish()). */
void alloc_profile_finish(struct profile *p, uint32_t first, struct alloc *a, uint64_t end);

#endif
