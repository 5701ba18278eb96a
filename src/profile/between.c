/* SPDX-License-Identifier: MIT */
#include "profile/between.h"

#include <errno.h>
#include <stdlib.h>

#include "profile/profile_state.h"

/* Of a sample's ticks: how many, and their weights; and whether they are moments. */
struct sums {
	uint64_t number, weight;
	int moments;
};

static void add(struct sums *s, const struct tick *t)
{
	s->number += t->span ? 1 : t->value;
	s->weight += t->value;
	s->moments |= !t->span;
}

/* Samples without a time are somewhere else, as worth.h has it. */
static void add_untimed(const struct profile *p, struct sums *all)
{
	const uint64_t *taken = profile_values(p, 0);

	for (size_t i = 0; i < p->samples.n; i++)
		if (p->types.v[0].measured_in == PROFILE_COUNT && all[i].moments &&
		    all[i].number < taken[i])
			all[i].number = all[i].weight = taken[i];
}

/* Cuts off what of a span lies outside of the range; 0 where nothing is left of the tick. */
static int clip(struct tick *t, uint64_t from, uint64_t to)
{
	uint64_t end = t->time + t->span;

	if (!t->span)
		return t->time >= from && t->time < to;
	if (end <= from || t->time >= to)
		return 0;
	t->time = t->time < from ? from : t->time;
	t->span = t->value = (end < to ? end : to) - t->time;
	return 1;
}

/* Leaves the ticks in the range, or what is of them; by sample: those, and what there was. */
static void take_ticks(struct profile *p, uint64_t from, uint64_t to, struct sums *in,
		       struct sums *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->ticks.n; i++) {
		struct tick t = p->ticks.v[i];

		add(&all[t.sample], &t);
		if (!clip(&t, from, to))
			continue;
		add(&in[t.sample], &t);
		p->ticks.v[kept++] = t;
	}
	p->ticks.n = kept;
	add_untimed(p, all);
	profile_finish_ticks(p);
}

static uint64_t in_proportion(uint64_t value, uint64_t part, uint64_t all)
{
	if (!part || !all)
		return 0;
	return part >= all ? value : (uint64_t)((unsigned __int128)value * part / all);
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
	uint64_t end = to && (!m->duration || to < m->duration) ? to : m->duration;
	struct sums *in, *all;

	if (!p->ticks.n)
		return -ENODATA;
	in = xcalloc(p->samples.n, sizeof(*in));
	all = xcalloc(p->samples.n, sizeof(*all));
	take_ticks(p, from, to ? to : UINT64_MAX, in, all);
	for (uint32_t type = 0; type < p->types.n; type++) {
		int number = p->types.v[type].measured_in == PROFILE_COUNT;

		for (uint32_t i = 0; i < p->samples.n; i++)
			profile_set(p, i, type,
				    in_proportion(profile_values(p, type)[i],
						  number ? in[i].number : in[i].weight,
						  number ? all[i].number : all[i].weight));
	}
	free(in);
	free(all);
	if (m->duration)
		m->duration = end > from ? end - from : 0;
	forget_account(p);
	return 0;
}
