/* SPDX-License-Identifier: MIT */
/*
 * What the namer's thread does: names places one after the other. One thread at a time has it.
 */
#ifndef EBPROF_NAMING_H
#define EBPROF_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "session/namer.h"

/* How far the recording is. */
enum naming_phase { NAMING_SAMPLES, NAMING_STOPPED, NAMING_FINISHES };

struct namer_runtime {
	uint32_t number;
	struct symbol_source *source;	/* NULL: not known */
	int ended;			/* it tells no more */
};

struct naming_place {
	struct namer_place where;
	uint32_t id;
	int again;			/* it was asked for before */
};

typedef VEC(struct naming_place) naming_places;

/* Answers, with indexes in place of pointers into what grows. */
struct naming_answers {
	VEC(struct naming_given { struct namer_answer answer; size_t first; }) all;
	VEC(struct symbol_frame) frames;
	naming_places later;		/* what may have another answer later */
};

struct naming;

struct naming *naming_new(const struct namer_options *o);
void naming_free(struct naming *n);

/* Sorts @places as they are named fastest; then each of them is named, in this phase. */
void naming_begin(struct naming *n, naming_places *places, enum naming_phase phase);
/* Names @p; adds what is found to @to. @runtime: its place's as it is now, where it has one. */
void naming_name(struct naming *n, const struct naming_place *p,
		 const struct namer_runtime *runtime, struct naming_answers *to);

/* All of them have been named. */
void naming_end(struct naming *n);

void naming_answers_free(struct naming_answers *a);
/* Moves all of @from behind what is in @to, and keeps its memory. */
void naming_answers_move(struct naming_answers *to, struct naming_answers *from);

struct symbolizer *naming_symbolizer(struct naming *n);

#endif
