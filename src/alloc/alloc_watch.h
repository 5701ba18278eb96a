/* SPDX-License-Identifier: MIT */
/*
 * How often the threads of processes call their allocators: counted for a moment, by the cheapest
 * program there is on all the functions that will have probes, beside the CPU time of each thread.
 */
#ifndef EBPROF_ALLOC_WATCH_H
#define EBPROF_ALLOC_WATCH_H

#include <stdint.h>

#include "alloc/alloc_links.h"
#include "alloc/alloc_load.h"

/* Looks at all places of @probes for @ns. 0 or a negative errno. */
int alloc_watch(const struct alloc_price *p, const struct alloc_probes *probes, uint64_t ns,
		struct alloc_load *load);

#endif
