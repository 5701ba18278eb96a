/* SPDX-License-Identifier: MIT */
#include "base/hashmap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/huge.h"
#include "base/xalloc.h"

/* Drawn once, at first use: the same keys collide in no two runs. */
static uint64_t seed(void)
{
	static uint64_t kept;
	uint64_t s = __atomic_load_n(&kept, __ATOMIC_RELAXED), fresh = 0;

	if (s)
		return s;
	if (getrandom(&fresh, sizeof(fresh), GRND_NONBLOCK) != sizeof(fresh))
		fresh = (uintptr_t)&kept;	/* ASLR is better than nothing */
	fresh |= 1;
	/* Two threads may come here at once; the seed of the first holds for both. */
	if (__atomic_compare_exchange_n(&kept, &s, fresh, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return fresh;
	return s;
}

/* The finalizer of SplitMix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

uint64_t hash_pair(uint64_t a, uint64_t b)
{
	return mix(mix(a ^ seed()) + b);
}

uint32_t hash_word(uint64_t a)
{
	return (uint32_t)mix(a ^ seed());
}

uint64_t hash_bytes(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = seed() ^ n, word;

	for (; n >= sizeof(word); s += sizeof(word), n -= sizeof(word)) {
		memcpy(&word, s, sizeof(word));
		h = mix(h ^ word);
	}
	word = 0;
	if (n)
		memcpy(&word, s, n);
	return mix(h ^ word);
}

/* The slot that holds @key, or the free one where it would go. */
static struct hashmap_slot *probe(const struct hashmap *m, uint64_t key)
{
	size_t i = mix(key ^ seed()) & (m->cap - 1);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint32_t hashmap_get(const struct hashmap *m, uint64_t key)
{
	const struct hashmap_slot *s;

	if (!m->cap)
		return HASHMAP_NONE;
	s = probe(m, key);
	return s->used ? s->value : HASHMAP_NONE;
}

static void grow(struct hashmap *m)
{
	const struct hashmap old = *m;

	m->cap = old.cap ? old.cap * 2 : 16;
	m->slots = xcalloc(m->cap, sizeof(*m->slots));
	/* Nearly each look-up is in another page. */
	if (hashmap_bytes(m) >= 2 * HUGE_BYTES)
		huge_wanted(m->slots, hashmap_bytes(m));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i].used)
			*probe(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

/* The slot of @key, new ones with @value, with room kept for the end of every probe. */
static struct hashmap_slot *slot(struct hashmap *m, uint64_t key, uint32_t value)
{
	struct hashmap_slot *s;

	if (m->n * 4 >= m->cap * 3)
		grow(m);
	s = probe(m, key);
	if (!s->used) {
		m->n++;
		*s = (struct hashmap_slot){ .key = key, .value = value, .used = 1 };
	}
	return s;
}

void hashmap_set(struct hashmap *m, uint64_t key, uint32_t value)
{
	slot(m, key, value)->value = value;
}

uint32_t hashmap_put(struct hashmap *m, uint64_t key, uint32_t value)
{
	return slot(m, key, value)->value;
}

void hashmap_del(struct hashmap *m, uint64_t key)
{
	struct hashmap_slot *s;
	size_t hole, i;

	if (!m->cap || !(s = probe(m, key))->used)
		return;
	m->n--;
	hole = (size_t)(s - m->slots);
	m->slots[hole].used = 0;
	/* Close the gap: whatever follows in the cluster is put where it belongs now. */
	for (i = (hole + 1) & (m->cap - 1); m->slots[i].used; i = (i + 1) & (m->cap - 1)) {
		struct hashmap_slot moved = m->slots[i];

		m->slots[i].used = 0;
		*probe(m, moved.key) = moved;
	}
}

void hashmap_free(struct hashmap *m)
{
	free(m->slots);
	*m = (struct hashmap){ 0 };
}
