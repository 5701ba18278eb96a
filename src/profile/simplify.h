/* SPDX-License-Identifier: MIT */
/*
 * A profile with less in it than was found: what a recording can leave out can be left out of a
 * saved one, too.
 */
#ifndef EBPROF_SIMPLIFY_H
#define EBPROF_SIMPLIFY_H

#include <stddef.h>

#include "profile/profile.h"

/* Counts inlined functions as what they were inlined into. */
void profile_drop_inlined(struct profile *p);
/*
 * Gives functions shorter names: @shorten writes that of @name to @dst, or returns 0 where it has
 * none. Functions of one module whose names become equal become one. Marks, and code made at run
 * time, whose names are their runtime's, keep theirs.
 */
void profile_shorten_names(struct profile *p,
			   int (*shorten)(const char *name, char *dst, size_t size));

#endif
