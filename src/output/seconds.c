/* SPDX-License-Identifier: MIT */
#include "output/seconds.h"

#include <stdlib.h>

#include "base/vec.h"
#include "base/xalloc.h"
#include "output/rollup.h"
#include "output/wait_place.h"
#include "profile/worth.h"

#define SECOND 1000000000ull
#define SECONDS_MOST 1000000u	/* rows; what comes later is in the last one */
/* of spans, in all; of those after that all the rest is where they have come */
#define PARTS_MOST 100000000u

/* The innermost function of a sample, of a wait that which waits; nfunctions: it has none. */
static uint32_t leaf_of(const struct profile_view *v, const struct sample *s)
{
	return (uint32_t)rollup_leaf(v, wait_place(v, s->node, NULL));
}

static uint64_t second_of(const struct tick *t)
{
	uint64_t second = t->time / SECOND;

	return second < SECONDS_MOST ? second : SECONDS_MOST;
}

/* What is summed up of a second. */
struct sums {
	struct profile_view v;
	struct worth worth;
	uint64_t *by_leaf;
	VEC(uint32_t) touched;		/* leaves that have a sum */
	VEC(uint32_t) going_on;		/* ticks that are not over */
	size_t parts;			/* that were added up */
	uint64_t total;
	uint32_t busiest;
};

static void add(struct sums *s, const struct tick *t, uint64_t worth)
{
	uint32_t leaf = leaf_of(&s->v, &s->v.samples[t->sample]);

	if (!worth)
		return;
	if (!s->by_leaf[leaf])
		vec_push(&s->touched, leaf);
	s->by_leaf[leaf] += worth;
	s->total += worth;
	s->busiest = s->by_leaf[leaf] > s->by_leaf[s->busiest] ? leaf : s->busiest;
}

/* What of @t lies in the second that begins at @from; 1 where there is more behind it. */
static int add_part(struct sums *s, uint32_t tick, uint64_t from)
{
	const struct tick *t = &s->v.ticks[tick];
	int more = t->span && t->time + t->span > from + SECOND &&
		   from / SECOND < SECONDS_MOST && ++s->parts < PARTS_MOST;

	add(s, t, worth_between(&s->worth, t, from, more ? from + SECOND : UINT64_MAX));
	return more;
}

static void begin_second(struct sums *s)
{
	while (s->touched.n)
		s->by_leaf[s->touched.v[--s->touched.n]] = 0;
	s->total = 0;
	s->busiest = (uint32_t)s->v.nfunctions;
}

static struct row row_of(const struct profile *p, uint64_t second, uint32_t busiest,
			 uint64_t total)
{
	struct profile_view v = profile_view(p);
	int known = busiest < v.nfunctions;

	return (struct row){ .name = total ? rollup_name(p, busiest) : "-",
			     .module = known ? profile_text(p, v.functions[busiest].module) : "",
			     .file = "",
			     .owner = "",
			     .asker = "",
			     .kind = known ? v.functions[busiest].kind : FRAME_MARK,
			     .line = (uint32_t)second,
			     .self = total,
			     .total = total };
}

row_vec seconds_rows(const struct profile *p)
{
	struct sums s = { .v = profile_view(p) };
	row_vec rows = { 0 };

	if (!s.v.nticks)
		return rows;
	s.worth = worth_of(p, s.v.shown);
	s.by_leaf = xcalloc(s.v.nfunctions + 1, sizeof(*s.by_leaf));
	/* They are sorted by time. */
	for (uint32_t i = 0; i < s.v.nticks || s.going_on.n;) {
		uint64_t second = rows.n, from = second * SECOND;
		size_t kept = 0;

		begin_second(&s);
		for (size_t k = 0; k < s.going_on.n; k++)
			if (add_part(&s, s.going_on.v[k], from))
				s.going_on.v[kept++] = s.going_on.v[k];
		s.going_on.n = kept;
		for (; i < s.v.nticks && second_of(&s.v.ticks[i]) == second; i++)
			if (add_part(&s, i, from))
				vec_push(&s.going_on, i);
		vec_push(&rows, row_of(p, second, s.busiest, s.total));
	}
	worth_free(&s.worth);
	free(s.by_leaf);
	vec_free(&s.touched);
	vec_free(&s.going_on);
	return rows;
}
