/* SPDX-License-Identifier: MIT */
/* Processes of a profile that still run on this machine: their files are as they see them. */
#ifndef EBPROF_ANNOTATE_TARGETS_H
#define EBPROF_ANNOTATE_TARGETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/profile.h"

#define TARGETS_MAX 8		/* that are looked at: those with the most samples */

struct annotate_targets {
	pid_t v[TARGETS_MAX];
	size_t n;
};

/*
 * Of the processes whose values in @values (by process of the profile) are not 0. Who got a number
 * after the recording is another one. None where the profile does not say when it was recorded, or
 * that it was here; @live: it was, and is going on.
 */
struct annotate_targets annotate_targets_of(const struct profile *p, const uint64_t *values,
					    int live);
/* 1 where the profile was recorded on this machine, since it was booted. */
int annotate_since_boot(const struct profile *p);

#endif
