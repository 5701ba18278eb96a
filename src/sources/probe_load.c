/* SPDX-License-Identifier: MIT */
#include "sources/probe_load.h"

#include <linux/capability.h>
#include <stddef.h>

#include "collect/collector.h"
#include "collect/probe.h"
#include "collect/unwind_maps.h"

void probe_load(struct feature_result *r, const struct collector_part_ops *ops, void *ctx,
		uint32_t languages)
{
	const struct target_options target = { .no_inherit = 1 };
	const struct stack_options stack = { .max_frames = EBP_FRAMES_MAX, .buffer = 4096 };
	struct collector_options o = {
		.parts = { { ops, ctx } }, .nparts = 1, .trial = 1,
		.target = &target, .stack = &stack, .languages = languages,
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

