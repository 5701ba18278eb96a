/* SPDX-License-Identifier: MIT */
/* The times of calls of functions: how many took how long. A profile has those of some. */
#ifndef EBPROF_PROFILE_LATENCY_H
#define EBPROF_PROFILE_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#include "profile/summary.h"

/* Buckets of calls: each power of two of ns in parts. */
#define LATENCY_BITS 2
#define LATENCY_PARTS (1 << LATENCY_BITS)
#define LATENCY_BUCKETS (64 * LATENCY_PARTS)

#define LATENCY_NAME_MAX 256	/* bytes of a name, with its end */
#define LATENCY_TO "->"		/* in the name of times between two places; others are of calls */
#define LATENCIES_MAX 64	/* of one profile */

struct latency {
	uint32_t name;		/* string of the profile: what was called; never "" */
	uint64_t calls[LATENCY_BUCKETS];
};

struct profile;

/*
 * Adds @calls of @name to those that @p has of it; 0, or -EINVAL where the name is none or too
 * long, or there are too many.
 */
int profile_add_latency(struct profile *p, const char *name, const uint64_t calls[LATENCY_BUCKETS]);
/* Adds all of @src to @dst. */
void profile_add_latencies(struct profile *dst, const struct profile *src);
/* Valid until the next change. */
const struct latency *profile_latencies(const struct profile *p, size_t *n);

/* Marks of the times of calls: "the share @part of them are within ...". */
struct latency_share { const char *key; double part; };
#define LATENCY_SHARES 4
extern const struct latency_share latency_shares[LATENCY_SHARES];

/* The least of bucket @i, ns; of LATENCY_BUCKETS the most that there is. */
uint64_t latency_least(unsigned int i);
/* How many calls there are. */
uint64_t latency_calls(const uint64_t calls[LATENCY_BUCKETS]);
/* The time within which the share @part of all calls are, ns; 0 where there are none. */
uint64_t latency_within(const uint64_t calls[LATENCY_BUCKETS], double part);
/* Adds shares, and a line for each power of two between the first and the last that has calls. */
void latency_summary(const char *name, const uint64_t calls[LATENCY_BUCKETS], struct summary *rows);
/* The same of all that @p has, @suffix behind their names. */
void latency_summaries(const struct profile *p, const char *suffix, struct summary *rows);

#endif
