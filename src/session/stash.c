/* SPDX-License-Identifier: MIT */
#include "session/stash.h"

#include <stdint.h>

#include "base/huge.h"

static int add_block(struct stash *s)
{
	struct stash_block b = { .bytes = aligned_alloc(HUGE_BYTES, HUGE_BYTES) };

	if (!b.bytes)
		return 0;
	huge_wanted(b.bytes, HUGE_BYTES);
	vec_push(&s->blocks, b);
	return 1;
}

static int has_room(const struct stash_block *b, size_t size)
{
	return size <= HUGE_BYTES - b->used;
}

void stash_new(struct stash *s, size_t most)
{
	*s = (struct stash){ .most = most };
	add_block(s);
}

void *stash_take(struct stash *s, size_t size)
{
	struct stash_block *b;
	size_t i = s->filled;

	size = (size + 7) & ~(size_t)7;
	if (size > HUGE_BYTES)
		return NULL;
	if (!s->blocks.n || !has_room(&s->blocks.v[i], size)) {
		for (i = 0; i < s->blocks.n && s->blocks.v[i].pieces; i++)
			;
		if (i == s->blocks.n && (i >= s->most || !add_block(s)))
			return NULL;
		s->filled = i;
		s->blocks.v[i].used = 0;
	}
	b = &s->blocks.v[i];
	b->used += size;
	b->pieces++;
	return b->bytes + b->used - size;
}

void stash_give(struct stash *s, void *piece)
{
	struct stash_block *b = s->blocks.v;

	while ((uintptr_t)piece - (uintptr_t)b->bytes >= HUGE_BYTES)
		b++;
	if (!--b->pieces)
		b->used = 0;
}

void stash_shrink(struct stash *s)
{
	while (s->blocks.n > 1)
		free(s->blocks.v[--s->blocks.n].bytes);
	s->filled = 0;
}

void stash_free(struct stash *s)
{
	stash_shrink(s);
	if (s->blocks.n)
		free(s->blocks.v[0].bytes);
	vec_free(&s->blocks);
}
