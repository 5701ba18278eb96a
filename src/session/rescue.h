/* SPDX-License-Identifier: MIT */
/*
 * Samples that the kernel could not finish: their stacks are unwound here, now or
 * when the tables they need have been built. Every sample taken comes out
 * once, at the latest at rescue_finish().
 */
#ifndef EBPROF_RESCUE_H
#define EBPROF_RESCUE_H

#include <stddef.h>
#include <stdint.h>

#include "proc/procs.h"
#include "session/tracker.h"
#include "unwind/unwinder.h"

struct rescue;

/*
 * @result->result: how it ended, EBP_COMPLETE where it was saved. Both are valid during the call.
 */
typedef void rescue_done(void *ctx, const struct ebp_rescue *sample,
			 const struct unwind_result *result);

/* All but @ctx are borrowed for its life; @remote may be NULL. @max: frames of a stack. */
struct rescue *rescue_new(struct procs *procs, struct tracker *tracker, struct unwinder *unwinder,
			  struct remote *remote, uint32_t max, rescue_done *done, void *ctx);
void rescue_free(struct rescue *r);

/* @sample is copied where it has to wait. */
void rescue_take(struct rescue *r, const struct ebp_rescue *sample);
/* Tables have been built: tries those that wait again. */
void rescue_retry(struct rescue *r);
/* Now and then: processes whose stacks were not saved are tried again. */
void rescue_tick(struct rescue *r, uint64_t now);
/* Whether any waits for tables. */
int rescue_waits(const struct rescue *r);
/*
 * When the oldest sample that waits was taken; UINT64_MAX: none waits. Until then processes must be
 * known.
 */
uint64_t rescue_oldest(const struct rescue *r);
/* @pid has exited: how often it was in vain says nothing of the next process of that PID. */
void rescue_forget(struct rescue *r, pid_t pid);
/*
 * The recording is over: waits for tables that are being built, at most @ns, and gives out what is
 * left.
 */
void rescue_finish(struct rescue *r, uint64_t ns);
/* Samples that were saved: complete now. */
uint64_t rescue_saved(const struct rescue *r);

#endif
