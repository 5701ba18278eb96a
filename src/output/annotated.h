/* SPDX-License-Identifier: MIT */
/* One function of a profile: what each of its lines, and each address of its code, took. */
#ifndef EBPROF_ANNOTATED_H
#define EBPROF_ANNOTATED_H

#include <stddef.h>

#include "output/rollup.h"

/* Where it was compiled into: its own code, or what it was inlined into. */
struct annotated_code {
	uint32_t module;		/* of the profile */
	uint64_t address;		/* as the location's */
	enum frame_kind kind;
	uint64_t self;			/* samples whose innermost function it is there */
};

struct annotated {
	uint64_t self, total;		/* of the function; of all samples: profile_view().total */
	const char *module;
	/* by file and line; as rollup_lines() */
	struct rollup_function *lines;
	size_t nlines;
	struct annotated_code *code;	/* by module and address */
	size_t ncode;
};

/* The functions that are called @name, in any image. NULL: none has samples. */
struct annotated *annotated_new(const struct profile *p, const char *name);
void annotated_free(struct annotated *a);

#endif
