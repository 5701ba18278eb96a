/* SPDX-License-Identifier: MIT */
/*
 * A hash map from a 64-bit key to a 32-bit value, open addressing, for the
 * indexes over arrays that the whole program is built on. Keys may be chosen
 * by a hostile process, so they are mixed with a seed of this run. A map that is
 * all zeros is empty. One map is not for two threads at once.
 *
 * Wider keys: intern.h.
 */
#ifndef EBPROF_HASHMAP_H
#define EBPROF_HASHMAP_H

#include <stddef.h>
#include <stdint.h>

#define HASHMAP_NONE UINT32_MAX	/* "no such key"; never stored as a value */

struct hashmap {
	struct hashmap_slot { uint64_t key; uint32_t value; uint32_t used; } *slots;
	size_t n, cap;		/* cap is 0 or a power of two */
};

/* The value of @key, or HASHMAP_NONE. */
uint32_t hashmap_get(const struct hashmap *m, uint64_t key);
/* Inserts or replaces. */
void hashmap_set(struct hashmap *m, uint64_t key, uint32_t value);
/*
 * The value of @key where it is there; else inserts @value and returns that. One look-up for both.
 */
uint32_t hashmap_put(struct hashmap *m, uint64_t key, uint32_t value);
/* Removes @key where it is there. */
void hashmap_del(struct hashmap *m, uint64_t key);
void hashmap_free(struct hashmap *m);
/* Bytes of memory that it takes. */
static inline size_t hashmap_bytes(const struct hashmap *m)
{
	return m->cap * sizeof(*m->slots);
}

/* A seeded 64-bit hash of @n bytes; @p may be NULL where @n is 0. */
uint64_t hash_bytes(const void *p, size_t n);
/* A seeded mix of two words, for keys of two parts that are not stored whole. */
uint64_t hash_pair(uint64_t a, uint64_t b);
/* 32 bits of a seeded mix of one. */
uint32_t hash_word(uint64_t a);

#endif
