/* SPDX-License-Identifier: MIT */
#include "preload/block_table.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

/* of the first level, where nothing else is asked for: its first lines take 64 KiB */
#define BITS 10
#define BITS_MORE 2		/* each level is larger by these */

static unsigned int bits_of(const struct block_table *t, unsigned int level)
{
	return (t->bits ? t->bits : BITS) + level * BITS_MORE;
}

/*
 * Addresses of blocks are multiples of 16; the level is mixed in, so that who shared a bucket parts
 * in the next.
 */
static struct block_bucket *bucket_of(const struct block_table *t, struct block_bucket *level,
				      unsigned int n, uintptr_t at)
{
	uint64_t h = (at >> 4 ^ (uint64_t)n << 48) * 0x9e3779b97f4a7c15u;

	h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9u;
	return &level[h >> (64 - bits_of(t, n))];
}

static struct block_bucket *make_level(struct block_table *t, unsigned int n)
{
	size_t size = sizeof(struct block_bucket) << bits_of(t, n);
	struct block_bucket *made, *there = NULL;
	int saved = errno;

	made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	errno = saved;
	if (made == MAP_FAILED)
		return NULL;
	if (__atomic_compare_exchange_n(&t->levels[n], &there, made, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	munmap(made, size);
	return there;
}

static void count_mark(struct block_table *t, const void *block, int more)
{
	uint8_t *mark = block_table_mark(t, block), was = __atomic_load_n(mark, __ATOMIC_RELAXED);

	while (was != UINT8_MAX &&
	       !__atomic_compare_exchange_n(mark, &was, (uint8_t)(was + more), 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

void block_table_watch(struct block_table *t, const void *block)
{
	count_mark(t, block, 1);
}

int block_table_put(struct block_table *t, const void *block, uint64_t id)
{
	for (unsigned int n = 0; n < BLOCK_LEVELS; n++) {
		struct block_bucket *level = __atomic_load_n(&t->levels[n], __ATOMIC_ACQUIRE), *b;

		if (!level)
			level = make_level(t, n);
		if (!level)
			return -1;
		b = bucket_of(t, level, n, (uintptr_t)block);
		for (int i = 0; i < BLOCK_SLOTS; i++) {
			uintptr_t none = 0;

			if (!__atomic_compare_exchange_n(&b->at[i], &none, (uintptr_t)block, 0,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
				continue;
			b->ids[i] = id;
			count_mark(t, block, 1);
			return 0;
		}
		__atomic_store_n(&b->beyond, 1, __ATOMIC_RELEASE);
	}
	return -1;
}

uint64_t block_table_take(struct block_table *t, const void *block)
{
	/* 0 stands for what is free. */
	if (!block_table_may_have(t, block) || !block)
		return 0;
	for (unsigned int n = 0; n < BLOCK_LEVELS; n++) {
		struct block_bucket *level = __atomic_load_n(&t->levels[n], __ATOMIC_ACQUIRE), *b;

		if (!level)
			return 0;
		b = bucket_of(t, level, n, (uintptr_t)block);
		for (int i = 0; i < BLOCK_SLOTS; i++)
			if (__atomic_load_n(&b->at[i], __ATOMIC_RELAXED) == (uintptr_t)block) {
				uint64_t id = b->ids[i];

				__atomic_store_n(&b->at[i], 0, __ATOMIC_RELEASE);
				count_mark(t, block, -1);
				return id;
			}
		if (!__atomic_load_n(&b->beyond, __ATOMIC_ACQUIRE))
			return 0;
	}
	return 0;
}
