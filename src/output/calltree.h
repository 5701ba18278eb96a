/* SPDX-License-Identifier: MIT */
/*
 * A profile folded into one tree of functions: equal paths of functions are
 * one node, however many locations, threads or stacks led there. What draws or
 * lists whole stacks starts from here.
 *
 * What counts as equal is the caller's choice: each function, and if wanted
 * each thread, carries a *label*, a small number, and nodes are (parent,
 * label). Siblings stand in the order of their labels. All walks are
 * iterative: a stack may be as deep as it likes. Owned by the caller.
 */
#ifndef EBPROF_CALLTREE_H
#define EBPROF_CALLTREE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define CALLTREE_NONE UINT32_MAX

struct calltree_node {
	uint32_t parent;	/* comes before its children; 0 for the root, node 0, too */
	uint32_t label;		/* CALLTREE_NONE for the root */
	uint32_t child, next;	/* first child and next sibling; 0: none */
	uint64_t self, total;	/* samples that end here; those and all below */
};

struct calltree {
	struct calltree_node *nodes;
	size_t n;
	uint32_t *at;		/* by sample: its node; 0 where it is not there */
};

/*
 * Labels are array indexes: keep them dense. @functions: a label for each of the
 * profile's functions and one more, at index nfunctions, for frames without a
 * function; NULL: the index itself. @inlined: the same for functions where they
 * were inlined; NULL: as @functions. @threads: a label for each thread, a frame
 * before the stack's own; NULL: none. @lines: a label for each of the profile's
 * lines and, at index nlines, one for frames without; then functions do not count.
 * @values: by sample (profile_values()); NULL: those that the profile shows.
 */
struct calltree_labels {
	const uint32_t *functions, *inlined, *threads, *lines;
	const uint64_t *values;
};

/* Samples whose value is 0 are not there. @labels may be NULL: all of it NULL. */
struct calltree *calltree_new(const struct profile *p, const struct calltree_labels *labels);
/* The same with all samples that have a value of any type. */
struct calltree *calltree_of_all(const struct profile *p, const struct calltree_labels *labels);
/* By node of @t, a tree of @p: what ends there of @type. The caller frees it. */
uint64_t *calltree_self(const struct calltree *t, const struct profile *p, uint32_t type);
void calltree_free(struct calltree *t);

/* Calls @enter before a node's children and @leave after them, for all but the root. */
struct calltree_walker {
	void (*enter)(void *ctx, const struct calltree_node *n);
	void (*leave)(void *ctx, const struct calltree_node *n);
	void *ctx;
};
void calltree_walk(const struct calltree *t, const struct calltree_walker *w);

#endif
