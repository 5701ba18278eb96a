/* SPDX-License-Identifier: MIT */
/*
 * What lies above stacks that were sent, for those that wait: by the time that they are unwound
 * their process may have left these frames, or begun another program.
 *
 * Frames there were mostly there long before. So what is fetched is believed where the end of the
 * stack below is what it was; and from where what was fetched for an earlier stack of that thread
 * holds, it is not fetched again.
 */
#ifndef EBPROF_ABOVES_H
#define EBPROF_ABOVES_H

#include "bpf/unwind.h"
#include "proc/remote.h"
#include "session/stash.h"
#include "unwind/above.h"

struct aboves;

/* Both are borrowed for its life; @remote may be NULL. */
struct aboves *aboves_new(struct remote *remote, struct stash *stash);
void aboves_free(struct aboves *a);
/*
 * What lies above @sample's stack, of which the caller is a user; a piece without bytes: it has
 * changed. NULL: the stack was not cut.
 */
struct unwind_above *aboves_take(struct aboves *a, const struct ebp_rescue *sample);
/* Of the caller; takes NULL. */
void aboves_give(struct aboves *a, struct unwind_above *above);
/* No stack waits: nothing is remembered, so that the stash is empty. */
void aboves_forget(struct aboves *a);

#endif
