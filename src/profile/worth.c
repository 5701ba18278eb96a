/* SPDX-License-Identifier: MIT */
#include "profile/worth.h"

#include <stdlib.h>

#include "base/xalloc.h"

static uint64_t weight(const struct worth *w, const struct tick *t)
{
	return w->number && t->span ? 1 : t->value;
}

/* How many moments the sample should have; 0: that is not known. */
static uint64_t taken(const struct profile *p, uint32_t sample)
{
	return profile_view(p).types[0].measured_in == PROFILE_COUNT ? profile_values(p, 0)[sample]
								      : 0;
}

struct worth worth_of(const struct profile *p, uint32_t type)
{
	struct profile_view v = profile_view(p);
	struct worth w = { .values = profile_values(p, type),
			   .timed = xcalloc(v.nsamples + 1, sizeof(*w.timed)),
			   .all = xcalloc(v.nsamples + 1, sizeof(*w.all)),
			   .number = v.types[type].measured_in == PROFILE_COUNT };

	for (size_t i = 0; i < v.nticks; i++) {
		uint64_t *timed = &w.timed[v.ticks[i].sample];

		if (__builtin_add_overflow(*timed, weight(&w, &v.ticks[i]), timed))
			*timed = UINT64_MAX;
		if (!v.ticks[i].span)
			w.all[v.ticks[i].sample] = taken(p, v.ticks[i].sample);
	}
	for (size_t i = 0; i < v.nsamples; i++)
		if (w.all[i] < w.timed[i])
			w.all[i] = w.timed[i];
	return w;
}

void worth_free(struct worth *w)
{
	free(w->timed);
	free(w->all);
}

static uint64_t part(uint64_t value, uint64_t of, uint64_t all)
{
	return of >= all ? value : (uint64_t)((unsigned __int128)value * of / all);
}

uint64_t worth_tick(const struct worth *w, const struct tick *t)
{
	return part(w->values[t->sample], weight(w, t), w->all[t->sample]);
}

uint64_t worth_between(const struct worth *w, const struct tick *t, uint64_t from, uint64_t to)
{
	uint64_t end = t->time + t->span, first = t->time < from ? from : t->time;

	if (!t->span || w->number)
		return t->time >= from && t->time < to ? worth_tick(w, t) : 0;
	if (end > to)
		end = to;
	return first < end ? part(worth_tick(w, t), end - first, t->span) : 0;
}

uint64_t worth_untimed(const struct worth *w, uint32_t sample)
{
	uint64_t value = w->values[sample];

	return w->timed[sample] ? value - part(value, w->timed[sample], w->all[sample]) : value;
}

int worth_any(const struct profile *p, uint32_t type)
{
	struct profile_view v = profile_view(p);
	const uint64_t *values = profile_values(p, type);

	for (size_t i = 0; i < v.nticks; i++)
		if (values[v.ticks[i].sample])
			return 1;
	return 0;
}
