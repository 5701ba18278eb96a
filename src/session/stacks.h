/* SPDX-License-Identifier: MIT */
/*
 * The stacks that came, by id: the locations of their frames, in a profile. All zeros: none. Ids
 * are the kernel's (64-bit hashes), 0 means no stack.
 *
 * They are kept as a tree, as most differ from one that is there in a few of their innermost
 * frames.
 */
#ifndef EBPROF_STACKS_H
#define EBPROF_STACKS_H

#include "base/intern.h"
#include "base/vec.h"
#include "profile/profile.h"

struct stack {
	uint64_t id;
	uint32_t leaf;		/* its node in the tree; 0: it has no frames */
	/* how its unwinding ended, where that is known of the stack; else each count says it */
	uint32_t result;
};
#define STACKS_NO_RESULT UINT32_MAX

struct stacks {
	VEC(struct stack) all;
	VEC(struct node) nodes;		/* the first, once there is any, is the root */
	VEC(uint32_t) frames;		/* locations of a stack that is being put together */
	struct interned ids, node_ids;	/* of all and nodes */
};

void stacks_free(struct stacks *s);
/* Bytes of memory that they take. */
size_t stacks_bytes(const struct stacks *s);

/* 1 where it came; no stack at all is known, too. */
int stacks_know(const struct stacks *s, uint64_t id);
/* NULL: it did not come, or is none. Valid until the next is added. */
const struct stack *stacks_find(const struct stacks *s, uint64_t id);
/* The frame that called @node, and its own location; from a stack's leaf on, until that is 0. */
uint32_t stacks_caller(const struct stacks *s, uint32_t node);
uint32_t stacks_location(const struct stacks *s, uint32_t node);

/* The next frame, from the leaf on, of the stack that stacks_add() gives its id, which is new. */
void stacks_push(struct stacks *s, uint32_t location);
void stacks_add(struct stacks *s, uint64_t id);
/* How the unwinding of the stack that was added last ended. */
void stacks_last_result(struct stacks *s, uint32_t result);

/* Appends the frames from @leaf to its root to @p below @parent, root first. */
uint32_t stacks_append(struct stacks *s, struct profile *p, uint32_t parent, uint32_t leaf);
/* Appends stack @id, if it is known, leaf first. */
uint32_t stacks_append_turned(const struct stacks *s, struct profile *p, uint32_t parent,
			      uint64_t id);

#endif
