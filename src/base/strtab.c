/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"

#define BLOCK 65536

struct strtab {
	VEC(const char *) strings;	/* id -> string, inside a block */
	VEC(char *) blocks;
	size_t room;			/* bytes left in the last block */
	struct hashmap ids;		/* hash of a string -> id, then hash + 1, ... */
};

/* Copies @s into the last block; strings never move, so pointers stay valid. */
static const char *keep(struct strtab *t, const char *s, size_t len)
{
	char *p;

	if (len + 1 > t->room) {
		t->room = len + 1 > BLOCK ? len + 1 : BLOCK;
		vec_push(&t->blocks, xmalloc(t->room));
		p = t->blocks.v[t->blocks.n - 1];
	} else {
		const char *last = t->strings.v[t->strings.n - 1];

		p = (char *)last + strlen(last) + 1;
	}
	memcpy(p, s, len + 1);
	t->room -= len + 1;
	return p;
}

struct strtab *strtab_new(void)
{
	struct strtab *t = xcalloc(1, sizeof(*t));

	strtab_add(t, "");
	return t;
}

uint32_t strtab_add(struct strtab *t, const char *s)
{
	size_t len = strlen(s);
	uint64_t h = hash_bytes(s, len);
	uint32_t next = (uint32_t)t->strings.n, id;

	/* Two strings with one hash take neighbouring keys. */
	for (; (id = hashmap_put(&t->ids, h, next)) != next; h++)
		if (!strcmp(t->strings.v[id], s))
			return id;
	vec_push(&t->strings, keep(t, s, len));
	return next;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return t->strings.v[id];
}

uint32_t strtab_count(const struct strtab *t)
{
	return (uint32_t)t->strings.n;
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->blocks.n; i++)
		free(t->blocks.v[i]);
	vec_free(&t->blocks);
	vec_free(&t->strings);
	hashmap_free(&t->ids);
	free(t);
}
