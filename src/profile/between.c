/* SPDX-License-Identifier: MIT */
#include "profile/between.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/profile_state.h"

/* Keeps the ticks in the range; returns the sum of each sample's. The caller frees it. */
static uint64_t *take_ticks(struct profile *p, uint64_t from, uint64_t to)
{
	uint64_t *sums = xcalloc(p->samples.n, sizeof(*sums));
	size_t kept = 0;

	for (size_t i = 0; i < p->ticks.n; i++) {
		const struct tick t = p->ticks.v[i];

		if (t.time < from || (to && t.time >= to))
			continue;
		sums[t.sample] += t.value;
		p->ticks.v[kept++] = t;
	}
	p->ticks.n = kept;
	return sums;
}

static uint64_t in_proportion(uint64_t value, uint64_t part, uint64_t all)
{
	return part >= all ? value
			   : (uint64_t)((unsigned __int128)value * part / (all ? all : 1));
}

/* What was lost or cut is not known of a part. */
static void forget_account(struct profile *p)
{
	struct profile_account *a = profile_account(p);

	a->taken = a->kept = p->types.v[0].total;
	a->nlost = a->ntruncated = 0;
}

int profile_between(struct profile *p, uint64_t from, uint64_t to)
{
	struct profile_meta *m = profile_meta(p);
	uint64_t end = to && (!m->duration || to < m->duration) ? to : m->duration, *sums;

	if (!p->ticks.n)
		return -ENODATA;
	sums = take_ticks(p, from, to);
	for (uint32_t i = 0; i < p->samples.n; i++) {
		uint64_t all = profile_values(p, 0)[i];

		for (uint32_t type = (uint32_t)p->types.n; type-- > 0;)
			profile_set(p, i, type,
				    in_proportion(profile_values(p, type)[i], sums[i], all));
	}
	free(sums);
	if (m->duration)
		m->duration = end > from ? end - from : 0;
	forget_account(p);
	return 0;
}
