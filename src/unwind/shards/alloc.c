/* SPDX-License-Identifier: MIT */
#include "unwind/shards/alloc.h"

#include "base/hashmap.h"
#include "base/vec.h"

/*
 * Free extents hang in lists by size, eight for each power of two, so that a
 * fit is found without a search through all; and they are found by their two ends,
 * so that neighbours join. That needs memory for what is free only: tags beside
 * each unit would cost a quarter of the shards.
 */
#define STEPS_SHIFT	3
#define STEPS		(1u << STEPS_SHIFT)
#define LISTS		((32 - STEPS_SHIFT + 1) * STEPS)
/* extents of one list that are looked at before the next list */
#define LOOK		8

#define NONE		HASHMAP_NONE

struct extent {
	uint32_t ref, units;
	uint32_t next, before;		/* in its list; next alone in that of unused ones */
};

struct unwind_alloc {
	VEC(struct extent) extents;
	uint32_t unused;		/* places of @extents */
	uint32_t list[LISTS];
	struct hashmap by_start, by_end;/* ref -> extent; a ref behind it -> extent */
	size_t left;
};

struct unwind_alloc *unwind_alloc_new(void)
{
	struct unwind_alloc *a = xcalloc(1, sizeof(*a));

	a->unused = NONE;
	for (size_t i = 0; i < LISTS; i++)
		a->list[i] = NONE;
	return a;
}

void unwind_alloc_free(struct unwind_alloc *a)
{
	if (!a)
		return;
	vec_free(&a->extents);
	hashmap_free(&a->by_start);
	hashmap_free(&a->by_end);
	free(a);
}

/* The list for @units: sizes below STEPS have one each. */
static uint32_t list_of(uint32_t units)
{
	uint32_t log;

	if (units < STEPS)
		return units;
	log = 31 - (uint32_t)__builtin_clz(units);
	return (log - STEPS_SHIFT + 1) * STEPS + ((units >> (log - STEPS_SHIFT)) & (STEPS - 1));
}

static void insert(struct unwind_alloc *a, uint32_t ref, uint32_t units)
{
	uint32_t *list = &a->list[list_of(units)], i = a->unused;

	if (i == NONE) {
		i = (uint32_t)a->extents.n;
		vec_push(&a->extents, (struct extent){ 0 });
	} else {
		a->unused = a->extents.v[i].next;
	}
	a->extents.v[i] = (struct extent){ ref, units, *list, NONE };
	if (*list != NONE)
		a->extents.v[*list].before = i;
	*list = i;
	hashmap_set(&a->by_start, ref, i);
	hashmap_set(&a->by_end, ref + units, i);
	a->left += units;
}

static struct extent remove_extent(struct unwind_alloc *a, uint32_t i)
{
	struct extent *e = &a->extents.v[i], was = *e;

	if (was.before == NONE)
		a->list[list_of(was.units)] = was.next;
	else
		a->extents.v[was.before].next = was.next;
	if (was.next != NONE)
		a->extents.v[was.next].before = was.before;
	hashmap_del(&a->by_start, was.ref);
	hashmap_del(&a->by_end, was.ref + was.units);
	e->next = a->unused;
	a->unused = i;
	a->left -= was.units;
	return was;
}

/* The first fit of the list; @look: how many are looked at. */
static uint32_t fit(const struct unwind_alloc *a, uint32_t list, uint32_t units, uint32_t look)
{
	uint32_t i = a->list[list];

	while (i != NONE && a->extents.v[i].units < units && --look)
		i = a->extents.v[i].next;
	return i != NONE && a->extents.v[i].units >= units ? i : NONE;
}

uint32_t unwind_alloc_take(struct unwind_alloc *a, uint32_t units)
{
	uint32_t own = list_of(units), i = fit(a, own, units, LOOK);
	struct extent e;

	/* Whatever is in a list further on is large enough. */
	for (uint32_t l = own + 1; i == NONE && l < LISTS; l++)
		i = a->list[l];
	if (i == NONE)
		i = fit(a, own, units, UINT32_MAX);
	if (i == NONE)
		return 0;
	e = remove_extent(a, i);
	if (e.units > units)
		insert(a, e.ref + units, e.units - units);
	return e.ref;
}

void unwind_alloc_give(struct unwind_alloc *a, uint32_t ref, uint32_t units)
{
	uint32_t before, behind;

	if (ref % UNWIND_SHARD_UNITS && (before = hashmap_get(&a->by_end, ref)) != NONE) {
		struct extent e = remove_extent(a, before);

		ref = e.ref;
		units += e.units;
	}
	if ((ref + units) % UNWIND_SHARD_UNITS &&
	    (behind = hashmap_get(&a->by_start, ref + units)) != NONE)
		units += remove_extent(a, behind).units;
	insert(a, ref, units);
}

size_t unwind_alloc_left(const struct unwind_alloc *a)
{
	return a->left;
}
