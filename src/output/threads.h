/* SPDX-License-Identifier: MIT */
/*
 * The threads of a profile one by one, for formats that show each by itself: the
 * processes with the most of the shown values first, and in each its main thread
 * first. Threads without such a value are left out.
 */
#ifndef EBPROF_THREADS_H
#define EBPROF_THREADS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/profile.h"

struct thread_row {
	uint32_t thread;	/* of the profile */
	int leads;		/* the first one of its process */
	/*
	 * Ids that occur again (a program replaced by exec, a renamed thread) count on: 0, then 1,
	 * ...
	 */
	pid_t pid, tid;		/* @tid is @pid where threads were not told apart */
	uint32_t pid_again, tid_again;
	uint64_t total;
	const uint32_t *samples;	/* in the profile's order; those whose value is not 0 */
	size_t nsamples;
};

struct threads {
	struct thread_row *v;
	size_t n;
	uint32_t *order;	/* what the rows' samples point into */
};

/* threads_free() takes NULL. */
struct threads *threads_new(const struct profile *p);
/* Those as well that have spans of time (struct tick) alone; they have no samples. */
struct threads *threads_with_spans(const struct profile *p);
void threads_free(struct threads *t);

/* "100", or "100.1" where it is there @again; returns @buf. */
const char *threads_id(char *buf, size_t size, pid_t id, uint32_t again);

#endif
