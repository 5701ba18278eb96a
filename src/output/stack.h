/* SPDX-License-Identifier: MIT */
/*
 * A stack as a list of frames, the innermost first, for formats that write whole
 * stacks: what was inlined at a location is frames of its own, before the function
 * that it went into. And where each function's source is.
 */
#ifndef EBPROF_STACK_H
#define EBPROF_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct stack_frame {
	uint32_t location;
	uint32_t function;	/* the profile's number of functions where it has none */
	int inlined;		/* into the next frame */
};

struct stack {
	struct stack_frame *v;
	size_t n, cap;
};

/* The stack of @node in @s, in place of what was there; vec_free() frees it. */
void stack_fill(struct stack *s, const struct profile_view *v, uint32_t node);

/* A function has one file: that of the first of its lines. */
struct stack_source {
	uint32_t file;		/* string, "" where unknown */
	uint32_t line;		/* the lowest one in it that was sampled; 0: unknown */
};

/*
 * By function; one more, at index nfunctions, for frames without a function. The caller frees it.
 */
struct stack_source *stack_sources(const struct profile_view *v);

#endif
