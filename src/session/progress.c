/* SPDX-License-Identifier: MIT */
#include "session/progress.h"

void session_report(const struct session_options *o, const struct collector *c,
		    const struct assembler *a, uint64_t elapsed)
{
	struct session_progress p = { .elapsed = elapsed, .duration = o->duration };
	struct ebp_counters counters;

	collector_counters(c, &counters);
	p.taken = counters.taken;
	for (int i = 0; i < EBP_RESULTS; i++)
		p.truncated += i == EBP_COMPLETE ? 0 : assembler_results(a)[i];
	for (int i = 0; i < EBP_LOSSES; i++)
		p.lost += counters.lost[i];
	o->progress(o->ctx, &p);
}
