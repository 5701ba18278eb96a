/* SPDX-License-Identifier: MIT */
/*
 * The tables of a pprof profile as it is read: texts, mappings, functions and
 * locations by their ids, which may be any numbers in any order. Behind pprof_read().
 *
 * The first thing that is wrong is kept in @wrong; what is asked for after that is
 * harmless. What a profile may make us hold is bounded by @room.
 */
#ifndef EBPROF_PPROF_TABLES_H
#define EBPROF_PPROF_TABLES_H

#include "base/cursor.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "input/room.h"
#include "profile/pprof.h"

struct pprof_tables {
	struct profile *p;
	struct cursor file;		/* all of it */
	/* written by ebprof; set before anything but texts is read */
	int ours;
	const char *wrong;		/* NULL: nothing so far */
	int err;			/* the errno for it */
	struct room room;
	VEC(struct cursor) strings;	/* as they are in the file */
	VEC(uint32_t) string_ids;	/* string of the profile, PROFILE_NONE: not asked for yet */
	VEC(struct pprof_mapping) mappings;
	VEC(struct pprof_function) functions;
	/* location of the profile, PROFILE_NONE: it stands for no stack */
	VEC(uint32_t) locations;
	struct hashmap mapping_ids, function_ids, location_ids;
	/* the last address that was chosen for a location without one of its own */
	uint64_t made_up;
	/* Scratch, used again. */
	VEC(struct line) lines;
};

struct pprof_mapping {
	uint32_t module;
	enum frame_kind kind;
	uint64_t start, offset;
};

struct pprof_function {
	/* strings; @module: PROFILE_NONE where it is that of the location */
	uint32_t name, file, module;
	uint32_t kind;			/* PROFILE_NONE where it is that of the location */
};

/* The numbers in a message, by field. */
struct pprof_numbers {
	uint64_t v[PPROF_FIELDS];	/* 0 where they are missing */
	uint32_t there;			/* bits */
};

/* Fills an empty structure. */
void pprof_tables_open(struct pprof_tables *t, struct profile *p, const char *bytes, size_t n);
void pprof_tables_free(struct pprof_tables *t);
/* Texts; then, when @ours is known, mappings, functions and locations. */
void pprof_tables_read_strings(struct pprof_tables *t);
void pprof_tables_read(struct pprof_tables *t);

/* Keeps the first thing that is wrong. */
void pprof_wrong(struct pprof_tables *t, int err, const char *what);
/* Takes @n of the room. 0 where something is wrong: then nothing more is to be read. */
int pprof_room(struct pprof_tables *t, uint64_t n);
/* Calls @take for each message, or text, in @field of the profile. */
void pprof_each(struct pprof_tables *t, uint32_t field,
		void (*take)(struct pprof_tables *t, struct cursor message));
struct pprof_numbers pprof_numbers(struct pprof_tables *t, struct cursor message);
/* The string of the profile that is text @index of the file, cleaned. */
uint32_t pprof_string(struct pprof_tables *t, uint64_t index);
/* An element of t->locations. */
uint32_t pprof_location(struct pprof_tables *t, uint64_t id);

#endif
