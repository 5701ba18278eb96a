/* SPDX-License-Identifier: MIT */
#include "tui/heading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tui/rows.h"

#define SECOND 1e9

/* What the samples are of: "cpu-clock 99 Hz". */
static void rate_text(char *buf, size_t size, const struct profile_meta *m)
{
	if (m->frequency)
		snprintf(buf, size, "%.60s %" PRIu64 " Hz", m->event, m->frequency);
	else if (m->period)
		snprintf(buf, size, "%.60s every %" PRIu64, m->event, m->period);
	else
		snprintf(buf, size, "%.60s", m->event);
}

/*
 * Which values, where they are not simply samples or what the event's name says: ", wall 12.5 ms".
 */
static void values_text(char *buf, size_t size, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const char *name = profile_text(p, v.types[0].name);
	struct units units = units_fitting(p, ROW_VALUE_WIDTH);
	char sum[64];

	buf[0] = '\0';
	if (v.types[0].words->role != PROFILE_SAMPLES &&
	    (strcmp(name, v.meta->event) || units.divisor != 1))
		snprintf(buf, size, ", %.60s %s%s%s", name,
			 units_print(&units, v.total, sum, sizeof(sum)), *units.word ? " " : "",
			 units.word);
}

static void saved_text(char *buf, size_t size, const struct profile *p, const char *target)
{
	struct profile_view v = profile_view(p);
	struct units units = units_fitting(p, ROW_VALUE_WIDTH);
	char sum[64];

	snprintf(buf, size, "%.200s%s%.60s, %s %.60s", target ? target : "", target ? ": " : "",
		 profile_text(p, v.types[0].name), units_print(&units, v.total, sum, sizeof(sum)),
		 *units.word ? units.word : profile_text(p, v.types[0].unit));
}

void heading_text(char *buf, size_t size, const struct window_show *show, const char *target,
		  int since_start, int live)
{
	struct profile_view v = profile_view(show->profile);
	char rate[100], span[80], values[160];

	if (!live) {
		saved_text(buf, size, show->profile, target);
		return;
	}
	rate_text(rate, sizeof(rate), v.meta);
	values_text(values, sizeof(values), show->profile);
	if (!target) {
		snprintf(buf, size, "%s %.0f s%s: %" PRIu64 ", trunc. %" PRIu64 ", lost %" PRIu64,
			 show->level   ? "now, at"
			 : since_start ? "all"
				       : "last",
			 (double)show->span / SECOND, values, show->taken, show->truncated,
			 show->lost);
		return;
	}
	if (show->level)
		snprintf(span, sizeof(span), "now, after %.1f s", (double)show->span / SECOND);
	else if (since_start)
		snprintf(span, sizeof(span), "since start, %.1f s", (double)show->span / SECOND);
	else
		snprintf(span, sizeof(span), "last %.1f s of %.1f", (double)show->span / SECOND,
			 (double)show->since_start / SECOND);
	snprintf(buf, size,
		 "%.80s, %s%s, %s: %" PRIu64 " %s, %" PRIu64 " truncated, %" PRIu64 " lost", target,
		 rate, values, span, show->taken,
		 profile_event_words(v.meta->event)->many, show->truncated, show->lost);
}
