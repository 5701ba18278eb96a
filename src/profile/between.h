/* SPDX-License-Identifier: MIT */
/* The part of a recording that lies between two moments; of profiles with a timeline. */
#ifndef EBPROF_BETWEEN_H
#define EBPROF_BETWEEN_H

#include <stdint.h>

#include "profile/profile.h"

/*
 * Leaves what was sampled from @from to before @to (0: the end), in ns since the recording began.
 * Of a span, as a wait, which is partly there, its part counts, and one in numbers. A sample's
 * values are in proportion to what of its ticks is there (profile/worth.h); what has no tick is
 * left out. 0, or -ENODATA: the profile has no timeline.
 */
int profile_between(struct profile *p, uint64_t from, uint64_t to);

#endif
