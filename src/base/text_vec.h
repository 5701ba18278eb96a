/* SPDX-License-Identifier: MIT */
/*
 * A text that grows: `struct text_vec t = {0}; text_vec_add(&t, "x");`. t.v ends with a zero, and
 * is NULL before.
 */
#ifndef EBPROF_TEXT_VEC_H
#define EBPROF_TEXT_VEC_H

#include <string.h>

#include "base/vec.h"

struct text_vec { char *v; size_t n, cap; };

/* @n bytes of @s. */
static inline void text_vec_add_bytes(struct text_vec *t, const char *s, size_t n)
{
	vec_reserve(t, t->n + n + 1);
	memcpy(t->v + t->n, s, n);
	t->n += n;
	t->v[t->n] = '\0';
}

static inline void text_vec_add(struct text_vec *t, const char *s)
{
	text_vec_add_bytes(t, s, strlen(s));
}

#endif
