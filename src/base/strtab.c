/* SPDX-License-Identifier: MIT */
#include "base/strtab.h"

#include <string.h>

#include "base/intern.h"
#include "base/vec.h"

#define BLOCK 65536

struct strtab {
	VEC(const char *) strings;	/* id -> string, inside a block */
	VEC(char *) blocks;
	size_t room;			/* bytes left in the last block */
	struct interned ids;
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

static int same_string(const void *all, uint32_t id, const void *s)
{
	return !strcmp(strtab_get(all, id), s);
}

uint32_t strtab_add(struct strtab *t, const char *s)
{
	size_t len = strlen(s);
	uint32_t next = strtab_count(t);
	uint32_t id = intern(&t->ids, hash_bytes(s, len), next, same_string, t, s);

	if (id == next)
		vec_push(&t->strings, keep(t, s, len));
	return id;
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	return t->strings.v[id];
}

uint32_t strtab_count(const struct strtab *t)
{
	return (uint32_t)t->strings.n;
}

size_t strtab_bytes(const struct strtab *t)
{
	return t->blocks.n * BLOCK + t->strings.cap * sizeof(*t->strings.v) +
	       interned_bytes(&t->ids);
}

void strtab_free(struct strtab *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->blocks.n; i++)
		free(t->blocks.v[i]);
	vec_free(&t->blocks);
	vec_free(&t->strings);
	interned_free(&t->ids);
	free(t);
}
