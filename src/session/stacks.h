/* SPDX-License-Identifier: MIT */
/*
 * The stacks that came, by id: the locations of their frames, in a profile. All zeros: none. Ids
 * are the kernel's (64-bit hashes), 0 means no stack.
 */
#ifndef EBPROF_STACKS_H
#define EBPROF_STACKS_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/profile.h"

struct stack {
	size_t first;		/* in locations */
	uint32_t n;		/* leaf first */
	/* how its unwinding ended, where that is known of the stack; else each count says it */
	uint32_t result;
};
#define STACKS_NO_RESULT UINT32_MAX

struct stacks {
	VEC(struct stack) all;
	VEC(uint32_t) locations;	/* of all stacks, and of one that is being put together */
	size_t used;			/* of locations: those of stacks that have their id */
	struct hashmap ids;		/* stack id -> index */
};

void stacks_free(struct stacks *s);
/* Bytes of memory that they take. */
size_t stacks_bytes(const struct stacks *s);

/* 1 where it came; no stack at all is known, too. */
int stacks_know(const struct stacks *s, uint64_t id);
/* NULL: it did not come, or is none. Valid until the next is added. */
const struct stack *stacks_find(const struct stacks *s, uint64_t id);
uint32_t stacks_location(const struct stacks *s, const struct stack *stack, uint32_t i);

/* The next frame, from the leaf on, of the stack that stacks_add() gives its id, which is new. */
void stacks_push(struct stacks *s, uint32_t location);
void stacks_add(struct stacks *s, uint64_t id);
/* How the unwinding of the stack that was added last ended. */
void stacks_last_result(struct stacks *s, uint32_t result);

/* Appends a stack's frames to @p below @parent, root first, but for the @leaf innermost ones. */
uint32_t stacks_append(const struct stacks *s, struct profile *p, uint32_t parent,
		       const struct stack *stack, uint32_t leaf);
/* Appends stack @id, if it is known, leaf first. */
uint32_t stacks_append_turned(const struct stacks *s, struct profile *p, uint32_t parent,
			      uint64_t id);

#endif
