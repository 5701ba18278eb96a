/* SPDX-License-Identifier: MIT */
/*
 * The call tree as rows from the top to the bottom: comms, below each the functions
 * that its stacks begin with, and so on; siblings with the most samples first.
 */
#ifndef EBPROF_TREE_H
#define EBPROF_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct tree_row {
	const char *name;	/* of the function, or the comm; a text of the profile */
	const char *module;	/* "" where unknown, and of a comm */
	enum frame_kind kind;
	uint32_t depth;		/* 0: a comm */
	uint64_t self, total;	/* samples that end here; those and all below */
};

/* Rows of at least @percent of all samples, each below its parent. The caller frees them. */
struct tree_row *tree_rows(const struct profile *p, double percent, size_t *n);

#endif
