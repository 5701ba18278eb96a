/* SPDX-License-Identifier: MIT */
/* Random counts of known distributions, the same in every run. */
#ifndef EBPROF_TEST_DRAWS_H
#define EBPROF_TEST_DRAWS_H

#include <math.h>
#include <stdint.h>

/* splitmix64; begins with any number. */
static inline uint64_t draw_bits(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* Above 0, at most 1. */
static inline double draw_unit(uint64_t *state)
{
	return (double)((draw_bits(state) >> 11) + 1) / 9007199254740992.0;
}

/* How many of @n trials of chance @p, 0 < p < 1, succeed; from success to success. */
static inline uint64_t draw_binomial(uint64_t *state, uint64_t n, double p)
{
	double at = 0, scale = 1 / log1p(-p);
	uint64_t successes = 0;

	for (;; successes++) {
		at += floor(log(draw_unit(state)) * scale) + 1;
		if (at > (double)n)
			return successes;
	}
}

static inline double draw_normal(uint64_t *state)
{
	return sqrt(-2 * log(draw_unit(state))) * cos(2 * M_PI * draw_unit(state));
}

#endif
