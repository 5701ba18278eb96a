/* SPDX-License-Identifier: MIT */
/*
 * Our library that is preloaded into the command of `ebprof alloc`
 * (src/preload/alloc.c): where it is, and where in it the probes go.
 */
#ifndef EBPROF_ALLOC_LIBRARY_H
#define EBPROF_ALLOC_LIBRARY_H

#include <limits.h>
#include <stdint.h>

#include "alloc/alloc_load.h"
#include "base/error.h"

#define ALLOC_LIBRARY_NAME "ebprof-alloc.so"

struct alloc_library {
	char path[PATH_MAX];
	uint64_t block, end;	/* file offsets of ebprof_block() and ebprof_free() */
};

/*
 * Looks beside our own executable, in ../lib/ebprof and in build/. It must belong to root or to
 * whom that belongs, and nobody else may write it. 0, or a negative errno with @e filled.
 */
int alloc_library_find(struct alloc_library *l, struct error *e);
/*
 * The probes go on the nop of its functions that is cheaper (alloc_price_of_nops()); on the first
 * where both cost the same. Once.
 */
void alloc_library_choose_nop(struct alloc_library *l, const struct alloc_price *nops);
/*
 * Malloc'd "NAME=VALUE" texts for the command's environment, the last NULL; free() each. @interval:
 * bytes, 0: all.
 */
void alloc_library_environment(const struct alloc_library *l, uint64_t interval, char *env[3]);

#endif
