/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_profile.h"

struct target {
	struct profile *profile;
	uint32_t first, types;
};

static void set_site(void *ctx, uint32_t sample, const uint64_t values[ALLOC_TYPES])
{
	const struct target *t = ctx;

	for (uint32_t i = 0; i < t->types; i++)
		profile_set(t->profile, sample, t->first + i, values[i]);
}

void alloc_profile_update(struct profile *p, uint32_t first, uint32_t types,
			  const struct alloc *a)
{
	alloc_values(a, set_site, &(struct target){ p, first, types });
}

void alloc_profile_finish(struct profile *p, uint32_t first, struct alloc *a, uint64_t end)
{
	alloc_finish(a, end, set_site, &(struct target){ p, first, ALLOC_TYPES });
}
