/* SPDX-License-Identifier: MIT */
#include "stat/results.h"

/* What getrusage(2) and the clock tell, before the events. */
enum { ELAPSED, USER, SYSTEM, PEAK, OF_COMMANDS };

static enum series_unit unit_of(const struct event *ev)
{
	return event_is_clock(ev) ? SERIES_NS : ev->scale > 0 ? SERIES_SCALED : SERIES_COUNT;
}

void stat_results_begin(struct stat_results *r, const struct event *events, size_t n,
			int of_command)
{
	static const struct measure own[OF_COMMANDS] = {
		[ELAPSED] = { .name = "elapsed", .unit = SERIES_NS, .event = -1 },
		[USER] = { .name = "user", .unit = SERIES_NS, .event = -1 },
		[SYSTEM] = { .name = "system", .unit = SERIES_NS, .event = -1 },
		[PEAK] = { .name = "peak memory", .unit = SERIES_BYTES, .event = -1 },
	};

	r->own = of_command ? OF_COMMANDS : ELAPSED + 1;
	for (size_t i = 0; i < r->own; i++)
		vec_push(&r->measures, own[i]);
	for (size_t i = 0; i < n; i++)
		vec_push(&r->measures,
			 (struct measure){ .name = events[i].name, .event = (int)i,
					   .unit = unit_of(&events[i]),
					   .unit_name = events[i].unit });
	for (size_t i = 0; i < TOPDOWN_SHARES && r->topdown.n; i++)
		vec_push(&r->measures, (struct measure){ .name = topdown_names[i], .event = -1,
							 .unit = SERIES_PERCENT });
	r->events = n;
	for (size_t i = 0; i < r->measures.n; i++)
		r->measures.v[i].sides[0].share = r->measures.v[i].sides[1].share = 1;
}

static void add(struct series *s, double value)
{
	vec_push(&s->v, value);
}

void stat_results_add_time(struct stat_results *r, uint64_t elapsed)
{
	add(&r->measures.v[ELAPSED].sides[0], (double)elapsed);
}

void stat_results_add_run(struct stat_results *r, const struct run *run, int side)
{
	const double own[OF_COMMANDS] = {
		[ELAPSED] = (double)run->elapsed, [USER] = (double)run->user,
		[SYSTEM] = (double)run->system, [PEAK] = (double)run->peak,
	};

	for (size_t i = 0; i < OF_COMMANDS; i++)
		add(&r->measures.v[i].sides[side], own[i]);
}

static void add_counted(struct series *s, double value, double share)
{
	add(s, value);
	s->share = share < s->share ? share : s->share;
}

static void add_shares(struct stat_results *r, const struct counters *c, int side)
{
	struct measure *m = r->measures.v + r->own + r->events;
	double counts[TOPDOWN_EVENTS], shares[TOPDOWN_SHARES], share = 1;

	for (size_t i = 0; i < r->topdown.n; i++) {
		struct counted got = counters_read(c, r->events + i);

		counts[i] = got.value;
		share = got.share < share ? got.share : share;
	}
	if (share <= 0 || topdown_shares(&r->topdown, counts, shares))
		return;
	for (size_t i = 0; i < TOPDOWN_SHARES; i++)
		add_counted(&m[i].sides[side], 100 * shares[i], share);
}

void stat_results_add_counts(struct stat_results *r, struct counters *c, int side)
{
	counters_look(c);
	for (size_t i = 0; i < r->events; i++) {
		struct series *to = &r->measures.v[r->own + i].sides[side];
		struct counted got = counters_read(c, i);

		to->absent = counters_absent(c, i);
		if (!to->absent && got.share > 0)
			add_counted(to, got.value, got.share);
	}
	if (r->topdown.n)
		add_shares(r, c, side);
	r->user_only |= counters_user_only(c);
	r->lost |= counters_lost(c);
	if (r->by)
		r->parts = stat_parts_new(c, r->by, r->events, r->controller);
}

void stat_results_end(struct stat_results *r, int drop_absent)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->measures.n; i++) {
		struct measure *m = &r->measures.v[i];
		int share = i >= r->own + r->events;

		for (int side = 0; side < 2; side++)
			if (m->sides[side].v.n > r->done)
				m->sides[side].v.n = r->done;
		if (share ? m->sides[0].v.n > 0 : !m->sides[0].absent || !drop_absent)
			r->measures.v[kept++] = *m;
	}
	r->measures.n = kept;
}

void stat_results_free(struct stat_results *r)
{
	for (size_t i = 0; i < r->measures.n; i++)
		for (int side = 0; side < 2; side++)
			vec_free(&r->measures.v[i].sides[side].v);
	vec_free(&r->measures);
	stat_parts_free(&r->parts);
}
