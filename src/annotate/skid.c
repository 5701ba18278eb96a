/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "annotate/internal.h"

/* In pieces that fit a terminal. */
static const char *const clock_skid[] = {
	"a clock's interrupt has the address of the instruction that was next:",
	"the time of a slow one is at the one behind it, and code that runs with interrupts off is",
	"seen where they come on",
	NULL,
};
static const char *const counter_skid[] = {
	"a counter's interrupt comes some instructions after the event (skid): look at those",
	"before, too",
	NULL,
};
static const char *const precise[] = {
	"the CPU noted the address with the event: it is that of the instruction, or of the one",
	"behind it",
	NULL,
};
static const char *const exact[] = { NULL };

/* perf's modifiers at the end of an event's name, with their colon; "" where it has none. */
static const char *modifiers_of(const char *event)
{
	const char *colon = strrchr(event, ':');

	return colon && strspn(colon + 1, "ukhGHIDpPSWeb") == strlen(colon + 1) ? colon : "";
}

const char *const *annotate_skid(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const char *event = v.meta->event, *modifiers = modifiers_of(event);

	if (v.types[v.shown].words->role != PROFILE_SAMPLES &&
	    v.types[v.shown].words->role != PROFILE_CPU_TIME)
		return exact;
	if (profile_event_words(event)->clock)
		return clock_skid;
	/* "group:name" is a tracepoint or a probe, whose place is exact; nothing is known of "" */
	if (!*event || (strchr(event, ':') && !*modifiers))
		return exact;
	/* a p asks the CPU for the address */
	return strpbrk(modifiers, "pP") ? precise : counter_skid;
}
