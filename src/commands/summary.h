/* SPDX-License-Identifier: MIT */
/*
 * What `record` says on stderr besides errors: one progress line while it
 * runs, and the account at the end.
 */
#ifndef EBPROF_SUMMARY_H
#define EBPROF_SUMMARY_H

#include "commands/record_options.h"
#include "session/session.h"

/* Redraws the progress line; only for a terminal. @duration: ns until the end; 0: none is set. */
void progress_show(const struct session_progress *p, uint64_t duration);
void progress_clear(void);

/*
 * @origin: CLOCK_MONOTONIC ns at which the program began. @none: why there are no samples, where
 * there are none.
 */
void summary_show(struct profile *p, const struct session_result *r, const struct record_options *o,
		  uint64_t origin, const char *none);
/*
 * What is known of a profile that was read from a file, and of which of its types is shown where
 * that is not the first.
 */
void summary_show_saved(struct profile *p);
/* Samples lost, for whatever reason. */
uint64_t summary_lost(const struct profile_account *a);

#endif
