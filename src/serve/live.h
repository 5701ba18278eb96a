/* SPDX-License-Identifier: MIT */
/*
 * A profile that grows, as updates for a server: complete and disjoint, each with what came since
 * the one before (profile/increment.h). One waits for its names, for a while, and until the server
 * has taken the one before: there is never more than one in memory.
 */
#ifndef EBPROF_LIVE_H
#define EBPROF_LIVE_H

#include <stdint.h>

#include "base/outfile.h"
#include "profile/profile.h"
#include "profile/timeline.h"
#include "serve/store.h"

struct live;

/* Where updates go: mostly a server. */
struct live_sink {
	/* takes @text */
	void (*put)(void *ctx, enum store_kind kind, uint64_t sequence,
		    struct outfile_bytes *text);
	int (*is_busy)(void *ctx);	/* with what it was given */
	void *ctx;
};

/* @each: ns of CPU time that a sample stands for; 0: not known. */
struct live *live_new(const struct live_sink *sink, uint64_t each);
void live_free(struct live *l);

/* 1 where the one before has gone. */
int live_is_free(const struct live *l);
/*
 * Takes what came; @p is complete as of @now (clock_ns()), and may grow, but not be folded. Takes
 * @ticks as well: the times of that; NULL: there are none.
 */
void live_take(struct live *l, const struct profile *p, struct timeline *ticks, uint64_t now);
/* 1 where it is to be sent: it has its names, or has waited for them long enough. */
int live_is_due(const struct live *l, const struct profile *p, uint64_t now);
void live_send(struct live *l, const struct profile *p);

#endif
