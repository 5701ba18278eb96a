/* SPDX-License-Identifier: MIT */
/*
 * How much threads call an allocator, and what probes on it would add to that.
 *
 * Everything is a share of the CPU time of the threads that allocate: a thread that only computes
 * is neither slowed nor part of the figures (slice_threads_weight()). Plain arithmetic, without
 * clock or system call.
 */
#ifndef EBPROF_ALLOC_LOAD_H
#define EBPROF_ALLOC_LOAD_H

#include <stddef.h>
#include <stdint.h>

/* of one of our programs that takes no stack, about: for where it is not measured */
#define ALLOC_PROGRAM_NS 100.0

/* ns each. */
struct alloc_price {
	/* at a function's entry: the instruction is acted for; it is run out of line */
	double trap[2];
	double at_return;	/* and one more at its return */
};

/* Index of a counter of calls: bits that say which function it is. */
enum alloc_slot { SLOT_STEPPED = 1, SLOT_END = 2, SLOT_RESIZE = 4, ALLOC_SLOTS = 8 };

/* What a thread did while the cheapest probes were on all functions, at their entry only. */
struct alloc_watched {
	uint64_t calls[ALLOC_SLOTS];
	double cpu;		/* ns of CPU time, with the traps of these calls */
};

/*
 * For each second of CPU time that the threads use themselves: what the traps took is not theirs.
 */
struct alloc_load {
	/* of all functions that give blocks, and of those that only take them back */
	double calls, ends;
	double resizes;		/* of @calls: of realloc() */
	/* what traps add to each, without the programs on them; 0: none was seen */
	double call_ns, end_ns;
	/* traps took nearly all of the time while it was counted: a lower bound */
	int rough;
};

/* ns of the traps of a call, without the programs on them. */
double alloc_price_of(const struct alloc_price *p, int stepped, int returns);
struct alloc_load alloc_load_of(const struct alloc_price *p, const struct alloc_watched *threads,
				size_t n);
/*
 * CPU seconds that the probes of @groups (enum alloc_group) add to each of @load, but for stacks.
 */
double alloc_load_cost(const struct alloc_load *load, unsigned int groups);

#endif
