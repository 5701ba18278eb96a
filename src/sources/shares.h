/* SPDX-License-Identifier: MIT */
/*
 * Dividing what was measured for a group of samples among them.
 *
 * Of a group (a class of waits, or a thread's time on the CPU) a total is known
 * exactly, and of some of its samples a weight. When all is there, each sample gets
 * its part of the total, in whole numbers that add up to it. Where it is divided now and
 * then, it is so by the weights that came since the last time, so that each time shows
 * what was then; by all of them where none did.
 */
#ifndef EBPROF_SHARES_H
#define EBPROF_SHARES_H

#include <stdint.h>

struct shares;

#define SHARES_GONE UINT32_MAX	/* no sample */

struct shares *shares_new(void);
void shares_free(struct shares *s);

/* @sample (any number of the caller's) weighs @weight more in @group. */
void shares_weigh(struct shares *s, uint64_t group, uint32_t sample, uint64_t weight);
/* @n and @ns more belong to the samples of @group; to @fallback, where it has none. */
void shares_add(struct shares *s, uint64_t group, uint32_t fallback, uint64_t n, uint64_t ns);
/* The sample that weighs most in @group; SHARES_GONE: it has none. */
uint32_t shares_heaviest(const struct shares *s, uint64_t group);
/*
 * Samples have other numbers: @now by the old one, SHARES_GONE for those that will not be weighed
 * again and get nothing more, like all others of their group, which is forgotten. After
 * shares_divide(), before anything else is added.
 */
void shares_renumber(struct shares *s, const uint32_t *now);
/* Divides all that was added, and forgets it; the weights stay. */
void shares_divide(struct shares *s,
		   void (*give)(void *ctx, uint32_t sample, uint64_t n, uint64_t ns), void *ctx);

#endif
