/* SPDX-License-Identifier: MIT */
/*
 * A growable array of any type: `VEC(int) v = {0}; vec_push(&v, 3);`, read as
 * v.v[0 .. v.n-1]. vec_free() leaves it empty and usable.
 */
#ifndef EBPROF_VEC_H
#define EBPROF_VEC_H

#include <stdlib.h>

#include "base/xalloc.h"

#define VEC(T) struct { T *v; size_t n, cap; }

/* Makes room for @want elements in all. */
#define vec_reserve(vec, want) do { \
	size_t want_ = (want); \
	if (!(vec)->v || want_ > (vec)->cap) { \
		size_t cap_ = (vec)->cap ? (vec)->cap * 2 : 8; \
		if (cap_ < want_) \
			cap_ = want_; \
		(vec)->v = xreallocarray((vec)->v, cap_, sizeof(*(vec)->v)); \
		(vec)->cap = cap_; \
	} \
} while (0)

/* The element is made first: it may be read from the vector itself, which then moves. */
#define vec_push(vec, ...) do { \
	__typeof__(*(vec)->v) item_ = (__VA_ARGS__); \
	vec_reserve(vec, (vec)->n + 1); \
	(vec)->v[(vec)->n++] = item_; \
} while (0)

#define vec_free(vec) do { \
	free((vec)->v); \
	(vec)->v = NULL; \
	(vec)->n = (vec)->cap = 0; \
} while (0)

typedef VEC(const char *) string_vec;
typedef VEC(int) int_vec;

#endif
