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

void heading_text(char *buf, size_t size, const struct live_show *show, const char *target, int since_start)
{
	char rate[100], span[80];
	uint64_t all = show->taken;

	rate_text(rate, sizeof(rate), profile_view(show->profile).meta);
	if (since_start)
		snprintf(span, sizeof(span), "since start, %.1f s", (double)show->span / SECOND);
	else
		snprintf(span, sizeof(span), "last %.1f s of %.1f", (double)show->span / SECOND,
			 (double)show->since_start / SECOND);
	snprintf(buf, size, "%.80s, %s, %s: %" PRIu64 " samples, %" PRIu64 " truncated, %" PRIu64 " lost", target, rate, span,
		 all, show->truncated, show->lost);
}
