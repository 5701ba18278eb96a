/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_profile.h"

void alloc_profile_types(struct profile *p, int leaks)
{
	profile_set_type(p, 0, alloc_types[0].name, alloc_types[0].unit);
	for (uint32_t i = 1; i < ALLOC_TYPES; i++)
		profile_add_type(p, alloc_types[i].name, alloc_types[i].unit);
	profile_show(p, leaks ? INUSE_SPACE : ALLOC_SPACE);
}

static void set_site(void *ctx, uint32_t sample, const uint64_t values[ALLOC_TYPES])
{
	struct profile *p = ctx;

	profile_drop(p, sample);
	for (uint32_t i = 0; i < ALLOC_TYPES; i++)
		profile_count(p, sample, i, values[i]);
}

void alloc_profile_update(struct profile *p, const struct alloc *a)
{
	alloc_values(a, set_site, p);
}

void alloc_profile_finish(struct profile *p, struct alloc *a, uint64_t end)
{
	alloc_finish(a, end, set_site, p);
}
