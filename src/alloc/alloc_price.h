/* SPDX-License-Identifier: MIT */
/*
 * What probes on the functions of an allocator cost, known before they are set for good.
 *
 * A trap has its price by the machine, and by the first instruction of the function: where the kernel
 * acts for it that is half a microsecond, where it has to run it out of line it may be twenty of them in a virtual
 * machine. So it is measured on two functions of our own. How often the processes call is
 * counted for a moment, by the cheapest program there is on all the functions that will have probes.
 */
#ifndef EBPROF_ALLOC_PRICE_H
#define EBPROF_ALLOC_PRICE_H

#include <stdint.h>

#include "collect/alloc_links.h"

#define ALLOC_PROGRAM_NS 100.0	/* of one of our programs that takes no stack, about: for where it is not measured */

/* ns each. */
struct alloc_price {
	double trap[2];		/* at a function's entry: the instruction is acted for; it is run out of line */
	double at_return;	/* and one more at its return */
};

/* Of some processes, for each second of CPU time that they use themselves: what the traps took is not theirs. */
struct alloc_load {
	double calls, ends;	/* of all functions that give blocks, and of those that only take them back */
	double resizes;		/* of @calls: of realloc() */
	double call_ns, end_ns;	/* what traps add to each, without the programs on them; 0: none was seen */
	int rough;		/* while it was counted, traps took nearly all of the time: it may well be more */
};

/* 0; or -ENOTSUP where this kernel has no uprobe_link(), or it misses threads (Linux 6.6 to 6.9). Needs no other thread. */
int alloc_price_measure(struct alloc_price *p);
/* Looks at all places of @probes for @ns. 0 or a negative errno. */
int alloc_price_watch(const struct alloc_price *p, const struct alloc_probes *probes, uint64_t ns, struct alloc_load *load);

/* ns of the traps of a call, without the programs on them. */
double alloc_price_of(const struct alloc_price *p, int stepped, int returns);
/* CPU seconds that the probes of @groups (enum alloc_group) add to each of @load, but for stacks. */
double alloc_load_cost(const struct alloc_load *load, unsigned int groups);

#endif
