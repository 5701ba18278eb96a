/* SPDX-License-Identifier: MIT */
/*
 * The last recording: kept as pprof in the invoking user's cache (base/cache.h), readable by
 * that user alone, at most LAST_RECORDING_BYTES, until the next one takes its place.
 */
#ifndef EBPROF_LAST_RECORDING_H
#define EBPROF_LAST_RECORDING_H

#include "base/error.h"
#include "base/outfile.h"
#include "base/user.h"
#include "profile/profile.h"

#define LAST_RECORDING_BYTES (64u << 20)	/* packed */

/* Where it will be written; an older one is there until then. NULL where @u has no place for it. */
struct outfile *last_recording_open(const struct user *u);
/* Frees @f. 0, or a negative errno, -EFBIG: it is too large; then the older one is still there. */
int last_recording_write(struct outfile *f, const struct profile *p);
/* NULL with @e filled: there is none, or it cannot be read. */
struct profile *last_recording_read(const struct user *u, struct error *e);

#endif
