/* SPDX-License-Identifier: MIT */
/*
 * A recording, from the first event to a profile whose locations have names.
 *
 * Joins collector, side band, processes, assembler and namer; owns them
 * all. One thread: it sleeps until a buffer wants reading or time is up. Others build tables and
 * find names.
 */
#ifndef EBPROF_SESSION_H
#define EBPROF_SESSION_H

#include <stdint.h>

#include "alloc/alloc.h"
#include "base/error.h"
#include "base/sandbox.h"
#include "collect/collector.h"
#include "proc/remote.h"
#include "profile/profile.h"
#include "session/slicer.h"
#include "sources/allocations.h"
#include "symbols/symbolizer.h"
#include "unwind/unwinder.h"

struct session;

/* How far it has come; for the progress line. */
struct session_progress {
	uint64_t elapsed, duration;	/* ns; 0: no end set */
	/* samples; truncated ones as far as they were fetched */
	uint64_t taken, truncated, lost;
};

struct session_options {
	struct collector_options collect;
	uint64_t duration, delay;	/* ns; 0: none */
	size_t unwind_memory;		/* bytes of unwind tables, at most */
	struct symbolizer_options symbols;
	struct remote *remote;		/* who reads the memory of targets */
	/* entered before the first foreign file is read; NULL: not at all */
	const struct sandbox_options *sandbox;
	const struct alloc_options *alloc;	/* of allocations; NULL: none */
	const struct allocations *allocations;	/* NULL: none */
	/* the time in which they are followed is bounded; NULL: it is not */
	const struct slicer_options *slices;
	int leaks;			/* what is still in use is shown of them */
	int hide_idle;			/* threads that only waited are left out */
	int per_thread;			/* outputs tell threads apart by their ids */
	int why;			/* what has no name tells why in its place */
	int signals;			/* a descriptor: whatever it says ends the recording */
	int (*ended)(void *ctx);	/* asked now and then: 1 ends the recording */
	/* a descriptor: readable where `ended` is to be asked at once; -1: none */
	int wake;
	/*
	 * Somebody looks at the profile while it is made: counts are fetched this often (ns; 0: as
	 * usual), and `updated` is called after each time. It runs while we ought to sample, and
	 * must only copy what it wants. Where it returns 1 it has all of it, and then the profile
	 * may be folded (profile/profile_fold.h): what ended more than `window` ago. Not with
	 * `alloc`, which holds indexes of samples.
	 */
	uint64_t refresh, window;
	int (*updated)(void *ctx, const struct profile *p);	/* may be NULL */
	/* at the end, names that are still to come are not waited for */
	int hasty;
	/* 4 times a second; may be NULL */
	void (*progress)(void *ctx, const struct session_progress *p);
	/* called once: when sampling runs, or before the delay; may be NULL */
	int (*started)(void *ctx, struct error *e);
	/* called when all samples are there, and names are still to come; may be NULL */
	void (*stopped)(void *ctx);
	void *ctx;
};

struct session_result {
	uint64_t duration;		/* ns of sampling */
	uint64_t first_sample;		/* CLOCK_MONOTONIC ns; 0: none */
	uint64_t naming;		/* ns from the end of sampling until all had names */
	uint64_t side_band_lost;	/* process events that the kernel dropped */
	uint64_t skipped;		/* collector_skipped() */
	/* processes that ended and were made one for each name, for there were many */
	uint64_t folded;
	/* samples that user space unwound; those of them that became complete */
	uint64_t sent, saved;
	uint64_t untabled;		/* samples that met no table at first */
	/* user frames that the kernel took; of them by frame pointer */
	uint64_t frames, fp_frames;
	/* of waits: times that a thread left the CPU; of these: with stacks taken */
	uint64_t switches, captured;
	uint64_t idle, idle_ns;		/* threads that were left out, and how long they waited */
	uint64_t brief, brief_ns;	/* waits that were too short to count */
	/* of page faults: samples that told the size of their page */
	uint64_t sized;
	/* of allocations: blocks that seem to be in use, but may not be */
	uint64_t ends_lost;
	struct slicer_result slices;
	struct unwinder_stats unwind;
	size_t cpus;
	int kernel_hidden;		/* kernel.kptr_restrict hides the names */
};

/* Loads everything; nothing is sampled yet. NULL with @e filled. @o is borrowed. */
struct session *session_new(const struct session_options *o, struct error *e);
/*
 * Samples until an end comes, then fills the profile. 0, or a negative errno
 * with @e filled where sampling could not start; once it runs, what was
 * sampled is always kept.
 */
int session_run(struct session *s, struct session_result *r, struct error *e);
/*
 * One process more; for the `started` hook, when forks are followed already. 0 or a negative errno.
 */
int session_add_target(struct session *s, pid_t pid);
/* Keeps for later runs what took long to name (symbols/name_store.h), after session_run(). */
void session_save_names(struct session *s);
/* Valid until session_free(). */
struct profile *session_profile(struct session *s);
void session_free(struct session *s);

#endif
