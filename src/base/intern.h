/* SPDX-License-Identifier: MIT */
/*
 * Things that are kept once each, in an array of the caller's, and named by their index there: a
 * map from the hash of a thing to its id. Things with one hash have neighbouring keys, so each
 * candidate is compared with what is looked for.
 *
 * Inline, so that the comparison is as well.
 */
#ifndef EBPROF_INTERN_H
#define EBPROF_INTERN_H

#include "base/hashmap.h"

/* Whether the thing @id of @all, the caller's, is @thing. */
typedef int intern_same(const void *all, uint32_t id, const void *thing);

/* The id of @thing, of which @hash is the hash (hashmap.h); HASHMAP_NONE: it is not there. */
static inline uint32_t intern_find(const struct hashmap *ids, uint64_t hash, intern_same *same,
				   const void *all, const void *thing)
{
	uint32_t id;

	while ((id = hashmap_get(ids, hash)) != HASHMAP_NONE && !same(all, id, thing))
		hash++;
	return id;
}

/* The same, but a thing that is not there gets the id @next, under which the caller adds it. */
static inline uint32_t intern(struct hashmap *ids, uint64_t hash, uint32_t next, intern_same *same,
			      const void *all, const void *thing)
{
	uint32_t id;

	while ((id = hashmap_put(ids, hash, next)) != next && !same(all, id, thing))
		hash++;
	return id;
}

/* Gives the id @next to a thing that is known not to be there. */
static inline void intern_add(struct hashmap *ids, uint64_t hash, uint32_t next)
{
	while (hashmap_put(ids, hash, next) != next)
		hash++;
}

#endif
