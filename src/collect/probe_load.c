/* SPDX-License-Identifier: MIT */
/*
 * Whether the programs of a kind of recording can be loaded: they are, with the least of maps, and
 * nothing is attached.
 */
#include <linux/capability.h>
#include <stddef.h>

#include "collect/collector.h"
#include "collect/probe.h"
#include "collect/unwind_maps.h"

static void try_load(struct feature_result *r, struct collector_options *o)
{
	struct unwind_maps *maps;
	struct collector *c;
	struct error e;

	if (!probe_has_or_admin(CAP_BPF) || !probe_has_or_admin(CAP_PERFMON)) {
		probe_say(r, FEATURE_SKIPPED, "the test needs CAP_BPF and CAP_PERFMON");
		return;
	}
	maps = unwind_maps_new(0, 1, &e);
	o->unwind_maps = maps;
	o->trial = o->user = o->kernel = o->rescue = 1;
	o->max_frames = EBP_FRAMES_MAX;
	o->frequency = 1;
	o->ring_bytes = 4096;
	c = maps ? collector_new(o, &e) : NULL;
	if (c)
		probe_say(r, FEATURE_OK, "can be loaded");
	else
		probe_say(r, FEATURE_DEGRADED, "%s", e.text);
	collector_free(c);
	unwind_maps_free(maps);
}

void probe_waits(struct feature_result *r)
{
	try_load(r, &(struct collector_options){
		.off_cpu = 1, .wall = 1, .wakers = 1, .states = 0xff, .overhead = 0.01 });
}

void probe_allocations(struct feature_result *r)
{
	struct alloc_probe probes[PROBE_KINDS];
	struct alloc_probes alloc = { .v = probes, .n = PROBE_KINDS };

	for (int i = 0; i < PROBE_KINDS; i++)
		probes[i] = (struct alloc_probe){ .kind = (enum alloc_probe_kind)i, .fd = -1 };
	try_load(r, &(struct collector_options){ .alloc = &alloc });
}
