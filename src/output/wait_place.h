/* SPDX-License-Identifier: MIT */
/* Where a thread waits: below the frame that says so, whose waker's stack may lie on it. */
#ifndef EBPROF_WAIT_PLACE_H
#define EBPROF_WAIT_PLACE_H

#include "profile/profile.h"

/*
 * The node of the innermost frame of the stack @node that waits, and in @mark (not NULL) that of
 * the frame above, "[blocked]". Of a stack that does not wait, or has no frames, @node itself and
 * 0.
 */
uint32_t wait_place(const struct profile_view *v, uint32_t node, uint32_t *mark);

/* What is said of a wait. */
struct wait_words {
	char state[64];		/* "blocked", "disk wait" */
	const char *place;	/* the function that waits; lives as long as the profile */
};
void wait_words(const struct profile *p, uint32_t sample, struct wait_words *words);

#endif
