/* SPDX-License-Identifier: MIT */
/*
 * Who calls some functions, and what they call. The functions in focus are seen as
 * one: a stack comes in through the caller of the outermost of them, once, and either
 * ends in the innermost of them or goes on to what that calls. So the callers' samples
 * add up to all that have one of the functions, and so do the callees' and their own.
 */
#ifndef EBPROF_CALLERS_H
#define EBPROF_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#include "output/rollup.h"
#include "profile/profile.h"

#define CALLERS_NONE "[none]"	/* the caller of what a stack begins with */

struct callers {
	uint64_t self;			/* samples whose innermost frame is in focus */
	uint64_t total;			/* samples with such a frame anywhere */
	/* The most samples first. @self of a row, and its @total: samples by that way. */
	struct rollup_function *callers, *callees;
	size_t ncallers, ncallees;
};

/* Whether a function is in focus. */
typedef int callers_match(void *ctx, const char *name, const char *module);

/*
 * What callers_new() takes: of all functions those that @match; malloc'd, NULL where there are
 * none.
 */
unsigned char *callers_focus(const struct profile *p, callers_match *match, void *ctx);
/* The same of those that are called @name, in @module. */
unsigned char *callers_focus_on(const struct profile *p, const char *name, const char *module);
/*
 * @focus: 1 for each of the profile's functions in focus, and one more for frames without a
 * function.
 */
struct callers *callers_new(const struct profile *p, const unsigned char *focus);
void callers_free(struct callers *c);

#endif
