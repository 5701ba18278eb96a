/* SPDX-License-Identifier: MIT */
#include "session/session_types.h"

#include <unistd.h>

#include "session/alloc_profile.h"

/*
 * Bytes are what is looked at: memory that is there now, and was not before. But times are those of
 * faults.
 */
static struct assembler_types set_fault_types(struct profile *p, const struct collector_options *o)
{
	uint32_t space;

	profile_set_type(p, 0, "page_faults", "count");
	space = profile_add_type(p, "fault_space", "bytes");
	if (!o->timeline)
		profile_show(p, space);
	return (struct assembler_types){ .waits = PROFILE_NONE,
					 .time = PROFILE_NONE,
					 .faults = o->period ? o->period : 1,
					 .page = (uint64_t)sysconf(_SC_PAGESIZE) };
}

struct assembler_types session_types(struct profile *p, const struct session_options *options)
{
	const struct collector_options *o = &options->collect;
	struct assembler_types t = { .samples = 0, .waits = PROFILE_NONE, .time = PROFILE_NONE };

	if (options->alloc) {
		alloc_profile_types(p, options->leaks);
		return (struct assembler_types){ .samples = PROFILE_NONE,
						 .waits = PROFILE_NONE,
						 .time = PROFILE_NONE };
	}
	if (o->event && o->event->pages)
		return set_fault_types(p, o);
	if (o->wall) {
		profile_set_type(p, 0, "wall", "nanoseconds");
		return (struct assembler_types){ .samples = PROFILE_NONE,
						 .waits = PROFILE_NONE,
						 .time = 0 };
	}
	if (!o->off_cpu)
		return t;
	if (o->event) {
		t.waits = profile_add_type(p, "waits", "count");
	} else {
		profile_set_type(p, 0, "waits", "count");
		t = (struct assembler_types){ .samples = PROFILE_NONE, .waits = 0 };
	}
	t.time = profile_add_type(p, "off-cpu", "nanoseconds");
	if (!o->event)
		profile_show(p, t.time);
	return t;
}

int session_times(const struct event *event)
{
	return event_is_clock(event) ||
	       (event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES);
}
