/* SPDX-License-Identifier: MIT */
#include "sources/options.h"

#include <stddef.h>
#include <string.h>

#define AT(field) offsetof(struct source_options, field)

const struct cli_part source_parts[] = {
	{ samples_rows, AT(samples) },
	{ waits_rows, AT(waits) },
	{ allocations_rows, AT(allocations) },
	{ page_faults_rows, AT(page_faults) },
	{ 0 }
};

const struct cli_rule source_rules[] = {
	{ .rules = waits_rules },
	{ .rules = allocations_rules },
	{ .rules = page_faults_rules },
	{ .rules = samples_rules },
	{ 0 }
};

int overhead_store(const char *option, const char *text, void *field, struct error *e)
{
	double *percent = field;

	if (strcmp(text, "none"))
		return cli_percent(option, text, field, e);
	*percent = OVERHEAD_NONE;
	return 0;
}

void source_options_free(struct source_options *o)
{
	vec_free(&o->allocations.allocators);
	vec_free(&o->samples.events);
	vec_free(&o->samples.filters);
	vec_free(&o->samples.counters);
	vec_free(&o->probes.filters);
	vec_free(&o->samples.latency);
	vec_free(&o->samples.ends);
	vec_free(&o->probes.ends);
	vec_free(&o->probes.latency);
	vec_free(&o->probes.events);
}
