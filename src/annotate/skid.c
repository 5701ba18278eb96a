/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "annotate/internal.h"

/* In pieces that fit a terminal. */
static const char *const clock_skid[] = {
	"a clock's interrupt has the address of the instruction that was next:",
	"the time of a slow one is at the one behind it, and code with interrupts off is seen where",
	"they come on",
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

/* Modifiers of perf's: a p asks the CPU for the address. */
static int is_precise(const char *event)
{
	const char *modifiers = strrchr(event, ':');

	return modifiers && strchr(modifiers, 'p') &&
	       strspn(modifiers + 1, "ukhGHIDpPSWeb") == strlen(modifiers + 1);
}

const char *const *annotate_skid(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	const char *event = v.meta->event;

	if (v.types[v.shown].words->role != PROFILE_SAMPLES &&
	    v.types[v.shown].words->role != PROFILE_CPU_TIME)
		return exact;
	if (profile_event_words(event)->clock)
		return clock_skid;
	/* "group:name" is a tracepoint or a probe, whose place is exact; nothing is known of "" */
	if (!*event || (strchr(event, ':') && !is_precise(event)))
		return exact;
	return is_precise(event) ? precise : counter_skid;
}
