/* SPDX-License-Identifier: MIT */
/*
 * The part of a profile that is looked at: samples by other values than its own, without
 * the frames of the kernel, or of programs. A profile of its own, so that all that can be
 * made of a profile can be made of it, and as large as what is in it.
 */
#ifndef EBPROF_PART_H
#define EBPROF_PART_H

#include <stdint.h>

#include "profile/profile.h"

struct part_choice {
	int no_kernel, no_user;		/* frames are left out; what has no frames then is, too */
	uint32_t type;			/* of the profile, plus 1; 0: the one that it shows */
};

/* The type of @p that is chosen. */
uint32_t part_type(const struct profile *p, const struct part_choice *c);
/* Of that type alone, with @values, by sample; NULL: its own. */
struct profile *part_new(const struct profile *p, const uint64_t *values,
			 const struct part_choice *c);
/* Adds the same of @p, which has the types of that which @part is of. */
void part_add(struct profile *part, const struct profile *p, const uint64_t *values,
	      const struct part_choice *c);

#endif
