/* SPDX-License-Identifier: MIT */
/*
 * Locations for what has names but no addresses, or addresses that name two
 * things: a location of the profile is (module, kind, address), and each gets an
 * address of its own: counted from 1, for a file begins with headers and not with code.
 */
#ifndef EBPROF_PLACES_H
#define EBPROF_PLACES_H

#include "input/slice.h"
#include "profile/profile.h"

struct places {
	struct profile *profile;
	struct slice_memo memo;		/* the text of a place -> location */
	uint64_t made_up;		/* addresses given away */
};

/* A new location with these lines, at @address where it is free; 0: none is known. */
uint32_t places_add(struct places *p, uint32_t module, enum frame_kind kind, uint64_t address, const struct line *lines,
		    size_t n);
/* The line of a function @name ("" for none known) in @module (a string), and of @kind. */
struct line places_line(struct places *p, struct slice name, const char *module, enum frame_kind kind);
void places_free(struct places *p);

#endif
