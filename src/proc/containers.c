/* SPDX-License-Identifier: MIT */
#include "proc/containers.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"

struct numbered {
	uint32_t number;	/* CONTAINERS_KEPT more: it took its place */
	struct container container;
};

struct containers {
	VEC(struct numbered) kept;
	uint32_t last;		/* number */
};

struct containers *containers_new(void)
{
	return xcalloc(1, sizeof(struct containers));
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	vec_free(&c->kept);
	free(c);
}

uint32_t containers_number(struct containers *c, const char id[CONTAINER_ID])
{
	struct numbered new = { .number = c->last + 1 };

	for (size_t i = 0; i < c->kept.n; i++)
		if (!strcmp(c->kept.v[i].container.id, id))
			return c->kept.v[i].number;
	container_look("", id, &new.container);
	if (c->kept.n < CONTAINERS_KEPT)
		vec_push(&c->kept, new);
	else
		c->kept.v[c->last % CONTAINERS_KEPT] = new;
	return ++c->last;
}

const struct container *containers_at(const struct containers *c, uint32_t number)
{
	const struct numbered *n = number ? &c->kept.v[(number - 1) % CONTAINERS_KEPT] : NULL;

	return n && n->number == number ? &n->container : NULL;
}
