/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": the known name that is nearest to what somebody typed.
 *
 *	struct near n = NEAR("recrod");
 *	for (each known name)
 *		near_consider(&n, name);
 *	if (*n.best)
 *		printf("did you mean '%s'?", n.best);
 */
#ifndef EBPROF_NEAR_H
#define EBPROF_NEAR_H

#include <stddef.h>
#include <stdint.h>

#define NEAR_MAX 64		/* longer words are near to nothing */

struct near {
	const char *word;	/* as typed; borrowed */
	char best[NEAR_MAX];	/* "": nothing is near */
	size_t distance;	/* of the best, in typing errors */
};

#define NEAR(text) { .word = (text), .distance = SIZE_MAX }

/* Case does not count; a word of which a third or more is wrong was meant to be something else. */
void near_consider(struct near *n, const char *name);

#endif
