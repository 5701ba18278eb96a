/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait, and how long: the scheduler's switches, with who ended a wait. With --wall
 * the time that they run is measured, too, and divided among their samples.
 */
#ifndef EBPROF_WAITS_H
#define EBPROF_WAITS_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "sources/early.h"
#include "sources/kernel_text.h"
#include "sources/shares.h"
#include "sources/source.h"

struct source_options;

struct waits_options {
	int off_cpu;		/* waits are measured, and */
	int wall;		/* with @wall time on the CPU, too; not both */
	int wakers;		/* who ended a wait is told, too */
	uint64_t min_block;	/* ns; shorter intervals are left out */
	unsigned int states;	/* a bit for each enum ebp_kind that is wanted */
	double max_overhead;	/* % of each CPU that taking stacks may cost */
	int hide_idle;		/* threads that only waited are left out */
};

/* @o is borrowed. */
struct source *waits_new(const struct waits_options *o);

/* Of its ops. */
int waits_check(struct source_options *o, struct stack_options *stack, struct error *e);
int waits_choose(struct source_options *o, struct source **s, struct error *e);

extern const struct source_ops waits_ops;

/* Below: for the two halves of this source. */

/* Who ends waits. */
struct waker {
	uint64_t user_id, kernel_id;
	uint32_t name;			/* string of the profile */
	struct ebp_process process;	/* zero for an interrupt */
};

#define WAITS_SUCCEEDED 2	/* programs with frames of languages */

/* Links of such that came later. */
struct waits_successors {
	int fds[WAITS_SUCCEEDED];
	size_t n;
};

struct waits {
	struct source source;
	const struct waits_options *o;
	uint32_t number, time;	/* types of the profile: intervals (or PROFILE_NONE), their ns */
	struct shares *shares;	/* among samples of a class */
	struct early early;
	VEC(struct waker) wakers;
	struct hashmap waker_ids;	/* waker id -> index */
	uint64_t idle, idle_ns;	/* threads that were left out, and how long they waited */
	struct kernel_text text;
	VEC(struct bpf_link *) links;
	/* of what took the place of those whose links come first, and what is about to */
	struct waits_successors successors, next;
};

extern const struct collector_part_ops waits_kernel;
extern const struct feature waits_feature;

#endif
