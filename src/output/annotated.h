/* SPDX-License-Identifier: MIT */
/*
 * Functions of a profile: what each of their lines, each address of their code, and each way in
 * which that was inlined, took.
 */
#ifndef EBPROF_ANNOTATED_H
#define EBPROF_ANNOTATED_H

#include <stddef.h>

#include "output/rollup.h"

/* Its own code, with what was inlined there, and what it was inlined into. */
struct annotated_code {
	uint32_t module;		/* of the profile */
	uint64_t address;		/* as the location's */
	enum frame_kind kind;
	uint32_t location;		/* one that is there */
	uint64_t self;			/* samples there */
};

/* Code of a line that was inlined, or into which others were: all that is at one location. */
struct annotated_chain {
	const char *file;		/* of the line */
	uint32_t line;
	uint32_t location;		/* one that has it: its lines are the chain */
	uint64_t self, total;		/* as those of a line */
};

struct annotated {
	const char *name, *module;
	uint64_t self, total;		/* of the function; of all samples: profile_view().total */
	/* by file and line; as rollup_lines() */
	struct rollup_function *lines;
	size_t nlines;
	struct annotated_chain *chains;	/* by file and line, then the most total ones first */
	size_t nchains;
	struct annotated_code *code;	/* by module and address */
	size_t ncode;
	uint64_t *processes;		/* total by process of the profile */
};

/* What is the same for all functions of a profile, which outlives it and does not change. */
struct annotated_sums;

struct annotated_sums *annotated_sums_new(const struct profile *p);
/* Takes NULL. */
void annotated_sums_free(struct annotated_sums *s);

/*
 * The functions that are called @name, in @module, or where that is NULL in any image; texts are
 * the profile's. NULL: none has samples.
 */
struct annotated *annotated_new(const struct annotated_sums *s, const char *name,
				const char *module);
/* Takes NULL. */
void annotated_free(struct annotated *a);

#endif
