/* SPDX-License-Identifier: MIT */
#include "session/stacks.h"

void stacks_free(struct stacks *s)
{
	vec_free(&s->all);
	vec_free(&s->nodes);
	vec_free(&s->frames);
	interned_free(&s->ids);
	interned_free(&s->node_ids);
}

size_t stacks_bytes(const struct stacks *s)
{
	return s->all.cap * sizeof(*s->all.v) + s->nodes.cap * sizeof(*s->nodes.v) +
	       interned_bytes(&s->ids) + interned_bytes(&s->node_ids);
}

static int same_stack(const void *stacks, uint32_t i, const void *id)
{
	return ((const struct stacks *)stacks)->all.v[i].id == *(const uint64_t *)id;
}

const struct stack *stacks_find(const struct stacks *s, uint64_t id)
{
	uint32_t i = id ? intern_find(&s->ids, id, same_stack, s, &id) : HASHMAP_NONE;

	return i == HASHMAP_NONE ? NULL : &s->all.v[i];
}

int stacks_know(const struct stacks *s, uint64_t id)
{
	return !id || stacks_find(s, id);
}

uint32_t stacks_caller(const struct stacks *s, uint32_t node)
{
	return s->nodes.v[node].parent;
}

uint32_t stacks_location(const struct stacks *s, uint32_t node)
{
	return s->nodes.v[node].location;
}

void stacks_push(struct stacks *s, uint32_t location)
{
	vec_push(&s->frames, location);
}

static int same_node(const void *stacks, uint32_t i, const void *node)
{
	const struct node *a = &((const struct stacks *)stacks)->nodes.v[i], *b = node;

	return a->parent == b->parent && a->location == b->location;
}

static uint32_t add_node(struct stacks *s, uint32_t parent, uint32_t location)
{
	const struct node n = { .parent = parent, .location = location };
	uint32_t next = (uint32_t)s->nodes.n;
	uint32_t i = intern(&s->node_ids, (uint64_t)parent << 32 | location, next, same_node, s,
			    &n);

	if (i == next)
		vec_push(&s->nodes, n);
	return i;
}

void stacks_add(struct stacks *s, uint64_t id)
{
	uint32_t leaf = 0;

	if (!s->nodes.n)
		vec_push(&s->nodes, (struct node){ .location = PROFILE_NONE });
	while (s->frames.n)
		leaf = add_node(s, leaf, s->frames.v[--s->frames.n]);
	intern_add(&s->ids, id, (uint32_t)s->all.n);
	vec_push(&s->all, (struct stack){ .id = id, .leaf = leaf, .result = STACKS_NO_RESULT });
}

void stacks_last_result(struct stacks *s, uint32_t result)
{
	s->all.v[s->all.n - 1].result = result;
}

uint32_t stacks_append(struct stacks *s, struct profile *p, uint32_t parent, uint32_t leaf)
{
	for (; leaf; leaf = stacks_caller(s, leaf))
		vec_push(&s->frames, stacks_location(s, leaf));
	while (s->frames.n)
		parent = profile_node(p, parent, s->frames.v[--s->frames.n]);
	return parent;
}

uint32_t stacks_append_turned(const struct stacks *s, struct profile *p, uint32_t parent,
			      uint64_t id)
{
	const struct stack *stack = stacks_find(s, id);

	for (uint32_t i = stack ? stack->leaf : 0; i; i = stacks_caller(s, i))
		parent = profile_node(p, parent, stacks_location(s, i));
	return parent;
}
