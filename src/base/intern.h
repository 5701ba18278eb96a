/* SPDX-License-Identifier: MIT */
/*
 * Things that are kept once each, in an array of the caller's, and named by their index there: the
 * index from the hash of a thing to its id. It has 32 bits of each hash, so a candidate is compared
 * with what is looked for, where it lies: half the memory of a hashmap. One that is all zeros is
 * empty.
 *
 * Inline, so that the comparison is as well.
 */
#ifndef EBPROF_INTERN_H
#define EBPROF_INTERN_H

#include "base/hashmap.h"

struct interned {
	/* of what is there, @id is 1 more than the thing's */
	struct interned_slot { uint32_t hash, id; } *slots;
	size_t n, cap;		/* cap is 0 or a power of two */
};

/* Whether the thing @id of @all, the caller's, is @thing. */
typedef int intern_same(const void *all, uint32_t id, const void *thing);

void interned_free(struct interned *ids);
/* Makes room for one more, with some kept for the end of every probe. */
void interned_reserve(struct interned *ids);

/* Bytes of memory that it takes. */
static inline size_t interned_bytes(const struct interned *ids)
{
	return ids->cap * sizeof(*ids->slots);
}

/* The slot of @thing, or the free one where it would go. */
static inline struct interned_slot *interned_probe(const struct interned *ids, uint32_t hash,
						   intern_same *same, const void *all,
						   const void *thing)
{
	size_t i = hash & (ids->cap - 1);
	struct interned_slot *s = &ids->slots[i];

	while (s->id && (s->hash != hash || !same(all, s->id - 1, thing))) {
		i = (i + 1) & (ids->cap - 1);
		s = &ids->slots[i];
	}
	return s;
}

/* The id of @thing, of which @hash is a hash; HASHMAP_NONE: it is not there. */
static inline uint32_t intern_find(const struct interned *ids, uint64_t hash, intern_same *same,
				   const void *all, const void *thing)
{
	const struct interned_slot *s;

	if (!ids->cap)
		return HASHMAP_NONE;
	s = interned_probe(ids, hash_word(hash), same, all, thing);
	return s->id ? s->id - 1 : HASHMAP_NONE;
}

/* The same, but a thing that is not there gets the id @next, under which the caller adds it. */
static inline uint32_t intern(struct interned *ids, uint64_t hash, uint32_t next, intern_same *same,
			      const void *all, const void *thing)
{
	uint32_t word = hash_word(hash);
	struct interned_slot *s;

	interned_reserve(ids);
	s = interned_probe(ids, word, same, all, thing);
	if (!s->id) {
		*s = (struct interned_slot){ .hash = word, .id = next + 1 };
		ids->n++;
	}
	return s->id - 1;
}

static inline int intern_never_same(const void *all, uint32_t id, const void *thing)
{
	(void)all;
	(void)id;
	(void)thing;
	return 0;
}

/* Gives the id @next to a thing that is known not to be there. */
static inline void intern_add(struct interned *ids, uint64_t hash, uint32_t next)
{
	intern(ids, hash, next, intern_never_same, NULL, NULL);
}

#endif
