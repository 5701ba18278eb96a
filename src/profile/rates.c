/* SPDX-License-Identifier: MIT */
#include "profile/rates.h"

#include <stdio.h>
#include <string.h>

#define SECOND 1000000000u

/* What is derived is called so. */
static const char time_name[] = "cpu", time_unit[] = "nanoseconds", events_unit[] = "events";

/* ns that a sample stands for; 0: not known. */
static uint64_t time_of_sample(const struct profile_meta *m)
{
	if (m->frequency)
		return SECOND / m->frequency;
	return profile_event_words(m->event)->clock ? m->period : 0;
}

static uint32_t find_time(const struct profile *p)
{
	struct profile_view v = profile_view(p);

	for (uint32_t t = 0; t < v.ntypes; t++)
		if (v.types[t].words->role == PROFILE_CPU_TIME &&
		    v.types[t].measured_in == PROFILE_NANOSECONDS)
			return t;
	return PROFILE_NONE;
}

/* The type that counts @event. */
static uint32_t find_events(const struct profile *p, const char *event)
{
	struct profile_view v = profile_view(p);

	for (uint32_t t = 0; t < v.ntypes; t++)
		if (!strcmp(profile_text(p, v.types[t].name), event) &&
		    !strcmp(profile_text(p, v.types[t].unit), events_unit))
			return t;
	return PROFILE_NONE;
}

/* Weights are made of the first type, so it must be samples. */
static int counts_samples(const struct profile *p)
{
	struct profile_view v = profile_view(p);

	return v.types[0].words->role == PROFILE_SAMPLES &&
	       v.types[0].measured_in == PROFILE_COUNT;
}

void rates_add(struct rates *r, struct profile *run)
{
	const struct profile_meta *m = profile_meta(run);
	int samples = counts_samples(run),
	    has_time = find_time(run) != PROFILE_NONE,
	    has_events = *m->event && find_events(run, m->event) != PROFILE_NONE;

	if (!r->runs++) {
		r->frequency = m->frequency;
		r->period = m->period;
		snprintf(r->event, sizeof(r->event), "%s", m->event);
	}
	r->differ |= r->frequency != m->frequency || r->period != m->period;
	if (samples && !has_time && time_of_sample(m)) {
		profile_derive(run, 0, time_name, time_unit, time_of_sample(m));
		has_time = 1;
	}
	if (samples && !has_events && m->period && *m->event) {
		profile_derive(run, 0, m->event, events_unit, m->period);
		has_events = 1;
	}
	r->no_time |= !has_time;
	r->no_events |= !has_events || strcmp(r->event, m->event);
}

enum rates_weight rates_show(const struct rates *r, struct profile *merged)
{
	uint32_t type;

	if (!r->differ || profile_view(merged).shown || !counts_samples(merged))
		return RATES_EQUAL;
	if (r->no_time && r->no_events)
		return RATES_UNKNOWN;
	type = r->no_time ? find_events(merged, r->event) : find_time(merged);
	profile_show(merged, type);
	return r->no_time ? RATES_EVENTS : RATES_TIME;
}
