/* SPDX-License-Identifier: MIT */
/*
 * What readers of texts share: frames, and the locations they are at.
 *
 * A location of the profile is (module, kind, address). Where names have no addresses,
 * or one address has two names, each gets an address of its own: counted from 1, for a
 * file begins with headers and not with code.
 */
#ifndef EBPROF_PLACES_H
#define EBPROF_PLACES_H

#include "input/room.h"

#define PLACES_INLINED_MAX 64	/* frames that were inlined in one place, at most */

struct places {
	struct room room;
	struct slice_memo memo;		/* the text of a place -> location */
	uint64_t made_up;		/* addresses given away */
};

/* A new location with these lines, at @address where it is free; 0: none is known. */
uint32_t places_add(struct places *p, uint32_t module, enum frame_kind kind, uint64_t address,
		    const struct line *lines, size_t n);
/* The line of a function @name ("" for none known) in @module (a string), and of @kind. */
struct line places_line(struct places *p, struct slice name, const char *module,
			enum frame_kind kind);
/* "[truncated: REASON]", as our outputs mark a stack that is cut. */
int places_is_mark(struct slice frame);
/* Counts samples whose outermost frame is @frame as truncated, where it is a mark. */
void places_count_mark(struct profile *p, struct slice frame, uint64_t count);
void places_free(struct places *p);

#endif
