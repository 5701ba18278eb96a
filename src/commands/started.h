/* SPDX-License-Identifier: MIT */
/*
 * The command that ebprof starts, as a target or to say how long to sample: its status is ours, and
 * it ends when our time is up.
 */
#ifndef EBPROF_STARTED_H
#define EBPROF_STARTED_H

#include "base/error.h"
#include "loop/loop.h"
#include "proc/launch.h"

/* Begins as STARTED_NEW. */
struct started {
	char **argv;		/* borrowed; NULL: there is none */
	struct launch launch;
	int runs;		/* it was let go, and perhaps has ended */
	int stopped;		/* by us, because our time was up */
};

#define STARTED_NEW { .launch = { .go = -1, .words = -1 } }

/*
 * Starts @argv (NULL: nothing), which waits to be let go. @env: as launch_prepare(). 0, or a
 * negative errno with @e filled.
 */
int started_prepare(struct started *s, char **argv, char *const env[], struct error *e);
/* Lets it go, if there is one; it gets the signals of @l from then on. The same. */
int started_go(struct started *s, struct loop *l, struct error *e);
/*
 * Signals end us at once from here on. Where it was our time that ended, it is asked to end, too.
 */
void started_end(struct started *s, struct loop *l);
/*
 * Waits for it, and returns its exit status, 0 without one. Where it does not end soon, standard
 * error has why we wait, unless @quiet.
 */
int started_status(const struct started *s, const struct loop *l, int quiet);
/* Ends one that was never let go. */
void started_cancel(struct started *s);

#endif
