/* SPDX-License-Identifier: MIT */
#include "session/stacks.h"

void stacks_free(struct stacks *s)
{
	vec_free(&s->all);
	vec_free(&s->locations);
	hashmap_free(&s->ids);
}

size_t stacks_bytes(const struct stacks *s)
{
	return s->all.cap * sizeof(*s->all.v) + s->locations.cap * sizeof(*s->locations.v) +
	       hashmap_bytes(&s->ids);
}

const struct stack *stacks_find(const struct stacks *s, uint64_t id)
{
	uint32_t i = id ? hashmap_get(&s->ids, id) : HASHMAP_NONE;

	return i == HASHMAP_NONE ? NULL : &s->all.v[i];
}

int stacks_know(const struct stacks *s, uint64_t id)
{
	return !id || stacks_find(s, id);
}

uint32_t stacks_location(const struct stacks *s, const struct stack *stack, uint32_t i)
{
	return s->locations.v[stack->first + i];
}

void stacks_push(struct stacks *s, uint32_t location)
{
	vec_push(&s->locations, location);
}

void stacks_add(struct stacks *s, uint64_t id)
{
	hashmap_set(&s->ids, id, (uint32_t)s->all.n);
	vec_push(&s->all, (struct stack){ .first = s->used,
					  .n = (uint32_t)(s->locations.n - s->used),
					  .result = STACKS_NO_RESULT });
	s->used = s->locations.n;
}

void stacks_last_result(struct stacks *s, uint32_t result)
{
	s->all.v[s->all.n - 1].result = result;
}

uint32_t stacks_append(const struct stacks *s, struct profile *p, uint32_t parent,
		       const struct stack *stack, uint32_t leaf)
{
	for (uint32_t i = stack->n; i-- > leaf;)
		parent = profile_node(p, parent, stacks_location(s, stack, i));
	return parent;
}

uint32_t stacks_append_turned(const struct stacks *s, struct profile *p, uint32_t parent,
			      uint64_t id)
{
	const struct stack *stack = stacks_find(s, id);

	for (uint32_t i = 0; stack && i < stack->n; i++)
		parent = profile_node(p, parent, stacks_location(s, stack, i));
	return parent;
}
