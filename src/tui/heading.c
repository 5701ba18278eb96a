/* SPDX-License-Identifier: MIT */
#include "tui/heading.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void heading_text(char *buf, size_t size, const struct live_show *show, const char *target, int since_start,
		  int live)
{
	char rate[100], span[80];
	struct profile_view v = profile_view(show->profile);

	rate_text(rate, sizeof(rate), v.meta);
	if (live && !target) {
		snprintf(buf, size, "%s %.0f s: %" PRIu64 ", trunc. %" PRIu64 ", lost %" PRIu64, since_start ? "all" : "last",
			 (double)show->span / SECOND, show->taken, show->truncated, show->lost);
		return;
	}
	if (!live) {
		snprintf(buf, size, "%.200s%s%.60s, %" PRIu64 " %.60s", target ? target : "", target ? ": " : "",
			 profile_text(show->profile, v.types[v.shown].name),
			 v.total, profile_text(show->profile, v.types[v.shown].unit));
		return;
	}
	if (since_start)
		snprintf(span, sizeof(span), "since start, %.1f s", (double)show->span / SECOND);
	else
		snprintf(span, sizeof(span), "last %.1f s of %.1f", (double)show->span / SECOND,
			 (double)show->since_start / SECOND);
	snprintf(buf, size, "%.80s, %s, %s: %" PRIu64 " samples, %" PRIu64 " truncated, %" PRIu64 " lost", target, rate, span,
		 show->taken, show->truncated, show->lost);
}
