/* SPDX-License-Identifier: MIT */
#include "output/seconds.h"

#include <stdlib.h>

#include "base/xalloc.h"
#include "output/rollup.h"

#define SECOND 1000000000ull
#define SECONDS_MOST 1000000u	/* rows; what comes later is in the last one */

/* The innermost function of a sample; nfunctions: it has none. */
static uint32_t leaf_of(const struct profile_view *v, const struct sample *s)
{
	const struct location *l = s->node ? &v->locations[v->nodes[s->node].location] : NULL;

	return l && l->nlines ? v->lines[l->first_line].function : (uint32_t)v->nfunctions;
}

static uint64_t second_of(const struct tick *t)
{
	uint64_t second = t->time / SECOND;

	return second < SECONDS_MOST ? second : SECONDS_MOST;
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
	struct profile_view v = profile_view(p);
	uint64_t *sums = xcalloc(v.nfunctions + 1, sizeof(*sums));
	row_vec rows = { 0 };

	/* They are sorted by time. */
	for (size_t i = 0, end; i < v.nticks; i = end) {
		uint64_t second = second_of(&v.ticks[i]), total = 0;
		uint32_t busiest = (uint32_t)v.nfunctions;

		while (rows.n < second)
			vec_push(&rows, row_of(p, rows.n, busiest, 0));
		for (end = i; end < v.nticks && second_of(&v.ticks[end]) == second; end++) {
			uint32_t leaf = leaf_of(&v, &v.samples[v.ticks[end].sample]);

			total += v.ticks[end].value;
			sums[leaf] += v.ticks[end].value;
			busiest = sums[leaf] > sums[busiest] ? leaf : busiest;
		}
		for (size_t k = i; k < end; k++)
			sums[leaf_of(&v, &v.samples[v.ticks[k].sample])] = 0;
		vec_push(&rows, row_of(p, second, busiest, total));
	}
	free(sums);
	return rows;
}
