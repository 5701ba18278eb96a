/* SPDX-License-Identifier: MIT */
/*
 * A function as one reads it: lines of source, then instructions, with their shares, as rows that a
 * terminal, a page and a text show alike. annotate/annotator makes them. Texts are clean, and its
 * own.
 */
#ifndef EBPROF_ANNOTATION_H
#define EBPROF_ANNOTATION_H

#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "base/vec.h"

enum annotation_kind {
	/* begins lines of a file, or the code of a function: which, and where it was found */
	ANNOTATION_SOURCE,
	ANNOTATION_CODE,
	ANNOTATION_NOTE,		/* a sentence */
	ANNOTATION_GAP,			/* what is left out */
	ANNOTATION_LINE,		/* a line of source */
	/* below a line: what its code was inlined into, and what into it */
	ANNOTATION_CHAIN,
	ANNOTATION_ORIGIN,		/* lines that the instructions below come from */
	ANNOTATION_INSTRUCTION,
};

struct annotation_row {
	enum annotation_kind kind;
	uint64_t self, total;		/* of all samples: struct annotation */
	uint64_t number;		/* of a line, or an address */
	uint32_t target;		/* of a jump: the row that it leads to; 0: none here */
	char *text;
	char *arrows;			/* of jumps, left of an instruction; NULL: none */
};

struct annotation {
	char *name, *module;
	uint64_t self, total, all;	/* of the function; of all samples */
	VEC(struct annotation_row) rows;
};

/* Appends a row, which takes a copy of @text. Returns it; valid until the next one. */
struct annotation_row *annotation_add(struct annotation *a, enum annotation_kind kind,
				      const char *text);
/* Takes NULL. */
void annotation_free(struct annotation *a);

/*
 * Leaves only lines and instructions that are at most @around rows from one that was sampled, and
 * of each at most @most rows, those with the most samples; gaps stand for the rest.
 */
void annotation_thin(struct annotation *a, size_t around, size_t most);

/* % of all samples; 0 where there are none. */
double annotation_percent(const struct annotation *a, uint64_t part);
/* The row as ebprof annotate prints it, in a malloc'd text without a newline. */
char *annotation_text(const struct annotation *a, const struct annotation_row *r);
/* All of it, in that form. */
void annotation_write(const struct annotation *a, struct outfile *f);

#endif
