/* SPDX-License-Identifier: MIT */
/*
 * The processes that the kernel side has named, by its key: who they are in the history of
 * processes (proc/procs) and in the profile. All zeros: none.
 */
#ifndef EBPROF_KNOWN_PROCESSES_H
#define EBPROF_KNOWN_PROCESSES_H

#include "base/intern.h"
#include "bpf/ebprof.h"
#include "proc/procs.h"
#include "profile/profile.h"

struct known_process {
	struct ebp_process key;
	uint32_t incarnation;	/* of procs */
	/* of the profile; PROFILE_NONE: it has no sample yet */
	uint32_t process;
	uint32_t samples;	/* of the profile, that it has */
	int shared;		/* its row in the profile is of all of its name that ended */
	uint32_t owner;		/* 1 + that of owners; 0: not looked for */
	/* ns; when procs was first seen to have forgotten it; 0: it has not */
	uint64_t gone;
};

struct known_processes {
	struct known_process *v;
	size_t n, cap;
	struct interned ids;	/* hash of struct ebp_process -> index */
};

void known_processes_free(struct known_processes *k);
/* The process of @key; NULL: it is not known. Valid until the next is added. */
struct known_process *known_processes_find(const struct known_processes *k,
					   const struct ebp_process *key);
/* Adds one that is not known; a copy. */
struct known_process *known_processes_add(struct known_processes *k,
					  const struct known_process *p);
/* The process of @key, found in @procs as of @time and added where it is not known. */
struct known_process *known_processes_at(struct known_processes *k, struct procs *procs,
					 const struct ebp_process *key, uint64_t time);

#endif
