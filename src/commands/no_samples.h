/* SPDX-License-Identifier: MIT */
/* Why a recording has no samples, as far as its end shows it, and what to try. */
#ifndef EBPROF_NO_SAMPLES_H
#define EBPROF_NO_SAMPLES_H

#include <stddef.h>

#include "commands/recording.h"

#define NO_SAMPLES_TEXT 512	/* bytes that are enough for any reason */

/*
 * One line without its end, clean: "process 12 (sleep) slept ...: try --off-cpu". Look soon after
 * the sampling has ended, because it asks what the targets do now; it needs no more than /proc and
 * cgroups.
 */
void no_samples_why(const struct recording *r, char text[NO_SAMPLES_TEXT]);

#endif
