/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <stdlib.h>

#include "base/huge.h"
#include "base/xalloc.h"

static void grow(struct interned *ids)
{
	const struct interned old = *ids;

	ids->cap = old.cap ? old.cap * 2 : 16;
	ids->slots = xcalloc(ids->cap, sizeof(*ids->slots));
	/* Nearly each look-up is in another page. */
	if (interned_bytes(ids) >= 2 * HUGE_BYTES)
		huge_wanted(ids->slots, interned_bytes(ids));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].id)
			*interned_probe(ids, old.slots[i].hash, intern_never_same, NULL, NULL) =
				old.slots[i];
	free(old.slots);
}

void interned_reserve(struct interned *ids)
{
	if (ids->n * 4 >= ids->cap * 3)
		grow(ids);
}

void interned_free(struct interned *ids)
{
	free(ids->slots);
	*ids = (struct interned){ 0 };
}
