/* SPDX-License-Identifier: MIT */
/*
 * What `record` says on stderr besides errors: one progress line while it
 * runs, and the account at the end.
 */
#ifndef EBPROF_SUMMARY_H
#define EBPROF_SUMMARY_H

#include "session/session.h"

/* Redraws the progress line; only for a terminal. @duration: ns until the end; 0: none is set. */
void progress_show(const struct session_progress *p, uint64_t duration);
void progress_clear(void);

struct summary_options {
	const char *none;	/* why there are no samples; "": there are some */
	int verbose;
	uint64_t origin;	/* CLOCK_MONOTONIC ns at which the program began */
};

/* Once, after session_finish(): what is known of the recording, as rows of its profile. */
void summary_fill(struct profile *p, const struct sources *sources, const struct session_result *r,
		  const struct summary_options *o);
/* Prints them. */
void summary_show(struct profile *p);
/*
 * What is known of a profile that was read from a file, and of which of its types is shown where
 * that is not the first.
 */
void summary_show_saved(struct profile *p);
/* How often the profile was begun anew, where it was; printed. */
void summary_renewals(const struct session_result *r);
/* Samples lost, for whatever reason. */
uint64_t summary_lost(const struct profile_account *a);

#endif
