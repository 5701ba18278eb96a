/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait, and how long: the scheduler's switches. With --wall the time that they run
 * is measured, too, and divided among their samples.
 */
#ifndef EBPROF_WAITS_H
#define EBPROF_WAITS_H

#include "base/vec.h"
#include "collect/collector.h"

struct waits_options {
	int wall;		/* time on the CPU is measured, too */
	int wakers;		/* who ended a wait is told, too */
	uint64_t min_block;	/* ns; shorter intervals are left out */
	unsigned int states;	/* a bit for each enum ebp_kind that is wanted */
	double overhead;	/* share of each CPU that taking stacks may cost */
};

struct waits {
	struct waits_options o;
	VEC(struct bpf_link *) links;
};

/* Their context is a struct waits, of which @o is filled. */
extern const struct collector_part_ops waits_kernel;

#endif
