/* SPDX-License-Identifier: MIT */
#include "input/perf_script_events.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"

int perf_script_is_sample(const struct perf_script_header *h)
{
	return (h->has_time || (h->has_pid && h->event.n)) &&
	       !slice_begins(h->rest, "PERF_RECORD_") && !slice_begins(h->event, "PERF_RECORD_");
}

/*
 * perf prints no period where it was not recorded, and 0 for none: then a sample stands for itself.
 */
static uint64_t weight_of(const struct perf_script_header *h)
{
	return h->has_period && h->period ? h->period : 1;
}

static size_t count_of(const struct perf_script_events *s)
{
	return s->names.entries.n;
}

static int too_many(const struct perf_script_events *s)
{
	return count_of(s) > PERF_SCRIPT_EVENTS_MAX;
}

/* Where the number of @event is, PROFILE_NONE the first time. Mostly it is the last one's again. */
static uint32_t *index_of(struct perf_script_events *s, struct slice event)
{
	if (s->last && event.s == s->last_event.s && event.n == s->last_event.n)
		return s->last;
	s->last = slice_memo_get(&s->names, event);
	s->last_event = event;
	return s->last;
}

void perf_script_events_survey(struct perf_script_events *s, const struct perf_script_header *h)
{
	uint32_t *index = too_many(s) ? NULL : index_of(s, h->event);
	uint64_t weight = weight_of(h);

	if (index && *index == PROFILE_NONE) {
		*index = (uint32_t)count_of(s) - 1;
		if (!too_many(s))
			s->list[*index].first_period = weight;
	}
	if (index && !too_many(s)) {
		struct perf_script_event *e = &s->list[*index];

		e->weighted |= weight != 1;
		e->varies |= weight != e->first_period || !h->has_period;
	}
	if (!s->samples++) {
		s->begin = s->end = h->time;
		s->all_have_time = 1;
	}
	s->begin = h->time < s->begin ? h->time : s->begin;
	s->end = h->time > s->end ? h->time : s->end;
	s->all_have_time &= h->has_time;
}

void perf_script_events_describe(struct perf_script_events *s, struct profile *p)
{
	struct profile_meta *m = profile_meta(p);
	size_t n = count_of(s);
	const char *names[PERF_SCRIPT_EVENTS_MAX];

	m->duration = s->all_have_time ? s->end - s->begin : 0;
	if (!n || too_many(s))
		return;
	for (size_t i = 0; i < n; i++)
		names[i] = profile_text(p, slice_string(p, s->names.entries.v[i].text));
	text_clean(m->event, sizeof(m->event), names[0]);
	m->period = n == 1 && !s->list[0].varies ? s->list[0].first_period : 0;
	for (size_t i = 0; n > 1 && i < n; i++) {
		char *counts = xasprintf("%s%s", names[i], s->list[i].weighted ? " samples" : "");

		if (i)
			profile_add_type(p, counts, "count");
		else
			profile_set_type(p, 0, counts, "count");
		free(counts);
	}
	for (size_t i = 0; i < n; i++) {
		int clock = profile_event_words(names[i])->clock;
		const char *name = n == 1 && clock ? "cpu" : *names[i] ? names[i] : "events";

		if (s->list[i].weighted)
			s->list[i].weights =
				profile_add_type(p, name, clock ? "nanoseconds" : "events");
	}
	if (s->list[0].weighted)
		profile_show(p, s->list[0].weights);
}

uint32_t perf_script_events_count(struct perf_script_events *s, struct profile *p, uint32_t sample,
				  const struct perf_script_header *h)
{
	uint32_t index = too_many(s) || !count_of(s) ? 0 : *index_of(s, h->event);

	/* A stack below a line that is no sample by itself. */
	if (index == PROFILE_NONE)
		index = 0;
	profile_count(p, sample, index, 1);
	if (!too_many(s) && s->list[index].weighted)
		profile_count(p, sample, s->list[index].weights, weight_of(h));
	return index;
}

void perf_script_events_free(struct perf_script_events *s)
{
	slice_memo_free(&s->names);
}
