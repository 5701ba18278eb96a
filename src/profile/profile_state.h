/* SPDX-License-Identifier: MIT */
/*
 * What the two parts of the profile share: profile.c makes it and shows it, profile_fold.c is for
 * who looks at it for days.
 */
#ifndef EBPROF_PROFILE_STATE_H
#define EBPROF_PROFILE_STATE_H

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "profile/latency.h"
#include "profile/profile.h"

/* A sample type, and its column of the table of values. */
struct column { uint64_t *v; size_t n, cap; };

struct profile {
	struct strtab *strings;
	VEC(struct function) functions;
	VEC(struct module) modules;
	VEC(struct location) locations;
	VEC(struct line) lines;
	VEC(struct node) nodes;
	VEC(struct process) processes;
	VEC(struct thread) threads;
	VEC(struct sample) samples;
	VEC(struct profile_type) types;
	VEC(struct column) columns;	/* as many as types, each as long as samples */
	uint32_t shown;
	VEC(struct label) labels;
	VEC(struct label_set) label_sets;
	VEC(struct tick) ticks;
	VEC(uint32_t) comments;
	VEC(struct latency) latencies;
	/* Indexes by what makes each thing itself. */
	struct hashmap process_ids;
	struct interned function_ids, module_ids, location_ids, node_ids, thread_ids, sample_ids,
		label_set_ids;
	struct profile_meta meta;
	struct profile_account account;
	struct summary summary;
	struct {
		uint64_t times;		/* that it was folded */
		/* by index before the last time: the index since then */
		VEC(uint32_t) processes, samples;
	} folded;
};

#endif
