/* SPDX-License-Identifier: MIT */
#include "session/budget.h"

#define MUCH	1000000u	/* ns: what takes less is free */
#define SHARE	5		/* one part in so many may be taken */
#define CREDIT	1000000000u	/* ns that may be owed to others */
#define UNIT	(1u << 20)	/* ns of the times that are kept; 52 days fit */

static uint64_t until(const struct budget *b, pid_t pid)
{
	uint32_t units = hashmap_get(&b->until, (uint64_t)pid);

	return units == HASHMAP_NONE ? 0 : b->origin + (uint64_t)units * UNIT;
}

int budget_has(const struct budget *b, pid_t pid, uint64_t now)
{
	return until(b, pid) <= now + CREDIT;
}

void budget_took(struct budget *b, pid_t pid, uint64_t begin, uint64_t end)
{
	uint64_t from = until(b, pid), units;

	if (end - begin < MUCH)
		return;
	from = (from > begin ? from : begin) + SHARE * (end - begin);
	units = (from - b->origin) / UNIT + 1;
	/* The first, or the last that fits: of what was owed long ago nothing is left. */
	if (!b->origin || units >= HASHMAP_NONE) {
		hashmap_free(&b->until);
		b->origin = begin;
		units = (from - begin) / UNIT + 1;
	}
	hashmap_set(&b->until, (uint64_t)pid, (uint32_t)units);
}

void budget_forget(struct budget *b, pid_t pid)
{
	hashmap_del(&b->until, (uint64_t)pid);
}

void budget_free(struct budget *b)
{
	hashmap_free(&b->until);
}
