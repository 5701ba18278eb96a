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
#include "sources/allocations.h"
#include "sources/waits.h"

static void try_load(struct feature_result *r, const struct collector_part_ops *ops, void *ctx)
{
	const struct target_options target = { .no_inherit = 1 };
	const struct stack_options stack = { .max_frames = EBP_FRAMES_MAX, .buffer = 4096 };
	struct collector_options o = {
		.parts = { { ops, ctx } }, .nparts = 1, .trial = 1,
		.target = &target, .stack = &stack,
	};
	struct unwind_maps *maps;
	struct collector *c;
	struct error e;

	if (!probe_has_or_admin(CAP_BPF) || !probe_has_or_admin(CAP_PERFMON)) {
		probe_say(r, FEATURE_SKIPPED, "the test needs CAP_BPF and CAP_PERFMON");
		return;
	}
	maps = unwind_maps_new(0, 1, &e);
	o.unwind_maps = maps;
	c = maps ? collector_new(&o, &e) : NULL;
	if (c)
		probe_say(r, FEATURE_OK, "can be loaded");
	else
		probe_say(r, FEATURE_DEGRADED, "%s", e.text);
	collector_free(c);
	unwind_maps_free(maps);
}

void probe_waits(struct feature_result *r)
{
	const struct waits_options all = { .wall = 1, .wakers = 1, .states = 0xff,
					   .max_overhead = 1 };
	struct waits waits = { .o = &all };

	try_load(r, &waits_kernel, &waits);
}

void probe_allocations(struct feature_result *r)
{
	struct alloc_probe probes[PROBE_KINDS];
	struct allocations allocations = { .probes = { .v = probes, .n = PROBE_KINDS } };

	for (int i = 0; i < PROBE_KINDS; i++)
		probes[i] = (struct alloc_probe){ .kind = (enum alloc_probe_kind)i, .fd = -1 };
	try_load(r, &allocations_kernel, &allocations);
}
