/* SPDX-License-Identifier: MIT */
/*
 * Numbers written into a text: a stream of varints (LEB128, as in pprof), as raw
 * deflate (RFC 1951), in base64 (RFC 4648) without line breaks. A browser undoes it
 * with atob() and DecompressionStream("deflate-raw"). Errors are the outfile's.
 */
#ifndef EBPROF_PACKED_H
#define EBPROF_PACKED_H

#include <stdint.h>

#include "base/outfile.h"

struct packed;

/* Writes to @f, which stays the caller's, and is written by nobody else before packed_close(). */
struct packed *packed_open(struct outfile *f);
void packed_put(struct packed *w, uint64_t n);
/* Writes what is left, and frees @w. */
void packed_close(struct packed *w);

#endif
