/* SPDX-License-Identifier: MIT */
/*
 * What ticks are worth: which part of its sample's value belongs to each. A value is divided among
 * the sample's ticks by their weights; numbers of spans, as of waits, in equal parts. So sums are
 * right also where some of what was sampled has no time of its own.
 */
#ifndef EBPROF_WORTH_H
#define EBPROF_WORTH_H

#include "profile/profile.h"

struct worth {
	const uint64_t *values;	/* of the type, by sample; borrowed */
	uint64_t *sums;		/* of weights, by sample; 0: it has no tick */
	int number;		/* the type is a number, not an amount of time or of bytes */
};

/* Of values of @type. */
struct worth worth_of(const struct profile *p, uint32_t type);
void worth_free(struct worth *w);
uint64_t worth_tick(const struct worth *w, const struct tick *t);
/* What of it lies from @from to before @to, ns. A number is whole where it begins. */
uint64_t worth_between(const struct worth *w, const struct tick *t, uint64_t from, uint64_t to);
/* 1 where a sample with a value of @type has ticks. */
int worth_any(const struct profile *p, uint32_t type);
/* 1 where the sample has a value, and no tick. */
int worth_untimed(const struct worth *w, uint32_t sample);

#endif
