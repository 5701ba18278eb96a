/* SPDX-License-Identifier: MIT */
/*
 * Ticks, packed: what a recording holds of them while it goes on, and a file for good.
 *
 * There is a stream for each CPU and sort of tick: moments of one sample, moments with a value,
 * spans. Of a tick it has varints: how far its time (a span's end) is from where the stream was,
 * for a clock less its period, so that little is left; the sample, by its place among the last
 * ones of the stream, or else from the last that was not among them; then its value or span.
 * Times are counted in units, and what lies below one is cut.
 *
 * As bytes: the unit (ns), the period (units), then of each stream its number (CPU * 3 + sort), how
 * many ticks and bytes it has, and these; all numbers are varints.
 */
#ifndef EBPROF_TIMELINE_H
#define EBPROF_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/protobuf.h"
#include "profile/profile.h"

#define TIMELINE_UNIT 1000u	/* ns; of recordings */
#define TIMELINE_CPUS 65536u	/* ticks of CPUs from here on are none */

struct timeline;

/* Of at most @most ticks. */
struct timeline *timeline_new(uint64_t unit, size_t most);
/* Before the first tick: a CPU's come at this rate (Hz), unless it is idle; 0: at none. */
void timeline_expect(struct timeline *t, uint64_t frequency);
void timeline_free(struct timeline *t);
/* 1, or 0: it is full, or the tick is not one. A span that is below one unit is left out. */
int timeline_add(struct timeline *t, const struct tick *tick);
int timeline_full(const struct timeline *t);
size_t timeline_ticks(const struct timeline *t);
/* How many came when it was full. */
uint64_t timeline_refused(const struct timeline *t);
/* Bytes of memory that it takes, about. */
size_t timeline_bytes(const struct timeline *t);
/* Samples have other numbers: @now by the old one. */
void timeline_renumber(struct timeline *t, const uint32_t *now);

/* One tick; 0: enough. */
typedef int timeline_take(void *ctx, const struct tick *tick);
/* In no order. */
void timeline_each(const struct timeline *t, timeline_take *take, void *ctx);

void timeline_write(const struct timeline *t, struct protobuf *b);
/* The same from bytes, of which nothing is trusted; @bytes is bad where they are damaged. */
void timeline_read(struct cursor *bytes, timeline_take *take, void *ctx);

#endif
