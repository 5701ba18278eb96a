/* SPDX-License-Identifier: MIT */
/*
 * What ticks are worth: which part of its sample's value belongs to each. A value is divided among
 * the sample's ticks by their weights; numbers of spans, as of waits, in equal parts. Of waits all
 * is divided, also what was summed up without times; of moments what has no time is left over.
 */
#ifndef EBPROF_WORTH_H
#define EBPROF_WORTH_H

#include "profile/profile.h"

struct worth {
	const uint64_t *values;	/* of the type, by sample; borrowed */
	/* by sample: weights of its ticks, in all; and with those that it lacks */
	uint64_t *timed, *all;
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
/* What of the sample's value belongs to no tick. */
uint64_t worth_untimed(const struct worth *w, uint32_t sample);

#endif
