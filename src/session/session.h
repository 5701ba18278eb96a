/* SPDX-License-Identifier: MIT */
/*
 * A recording, from the first event to a profile whose locations have names.
 *
 * Joins collector, side band, processes, assembler and namer; owns them all. The caller has the
 * loop: it waits for session_fds() and for the time of the next turn. Other threads build tables
 * and find names.
 *
 * Life: session_new(); session_follow() while the caller waits to begin; session_start(); a
 * session_turn() whenever a descriptor is readable or its time has come; session_stop();
 * session_finish(); session_free(). Not thread safe.
 */
#ifndef EBPROF_SESSION_H
#define EBPROF_SESSION_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sandbox.h"
#include "collect/collector.h"
#include "proc/owners.h"
#include "proc/remote.h"
#include "profile/profile.h"
#include "profile/timeline.h"
#include "sources/sources.h"
#include "symbols/symbolizer.h"
#include "unwind/unwinder.h"

struct session;

/* How far it has come. */
struct session_progress {
	uint64_t elapsed;		/* ns of sampling */
	/* samples; truncated ones as far as they were fetched */
	uint64_t taken, truncated, lost;
};

struct session_options {
	/* what is measured; must outlive the session, and is its alone */
	struct sources *sources;
	struct collector_options collect;	/* without the parts, which are the sources' */
	struct symbolizer_options symbols;
	struct remote *remote;		/* who reads the memory of targets */
	/* entered before the first foreign file is read; NULL: not at all */
	const struct sandbox_options *sandbox;
	int why;			/* what has no name tells why in its place */
	enum owner_kind by;		/* whose processes are, which tells samples apart */
	/*
	 * Somebody looks at the profile while it is made (session_update()), so names are wanted
	 * at once.
	 */
	int live;
	/*
	 * It runs for days, so memory and CPU time count for more than when tables and names are
	 * there: names are looked for after each session_update().
	 */
	int lean;
	uint64_t names_pause;	/* ns between two looks for names, at least (namer.h) */
	int self_contained;	/* the command starts no other program (proc/self_contained.h) */
};

#define LANGUAGES_NEVER UINT64_MAX

struct session_result {
	uint64_t duration;		/* ns of sampling */
	uint64_t first_sample;		/* CLOCK_MONOTONIC ns; 0: none */
	uint64_t naming;		/* ns from the end of sampling until all had names */
	uint64_t side_band_lost;	/* process events that the kernel dropped */
	uint64_t skipped;		/* collector_skipped() */
	/* processes that ended and were made one for each name, because there were many */
	uint64_t folded;
	uint64_t folded_threads;	/* the same of threads whose processes went on */
	/*
	 * samples whose times were not kept; ns of sampling after which there was no more room for
	 * them, 0: there was
	 */
	uint64_t untimed, timeline_end;
	uint64_t timeline, timeline_bytes;	/* times that were kept, and the memory of that */
	uint64_t renewed;	/* how often the profile was replaced by a new one */
	/* samples that user space unwound; those of them that became complete */
	uint64_t sent, saved;
	uint64_t untabled;		/* samples that met no table at first */
	/* user frames that the kernel took; of them by frame pointer */
	uint64_t frames, fp_frames;
	struct unwinder_stats unwind;
	size_t cpus;
	/*
	 * ns of sampling after which frames of all languages were taken that were met; 0: always
	 * were; LANGUAGES_NEVER: none was met
	 */
	uint64_t languages_from;
	int languages_failed;	/* an errno: why they could not be taken; 0: they could */
	/* which interpreter is not known, and why; NULL: none; lives as long as the session */
	const char *unknown_language;
	int kernel_hidden;		/* kernel.kptr_restrict hides the names */
};

/* Loads everything; nothing is sampled yet. NULL with @e filled. @o is borrowed. */
struct session *session_new(const struct session_options *o, struct error *e);
/* One process more; before or after session_start(). 0 or a negative errno. */
int session_add_target(struct session *s, pid_t pid);

#define SESSION_FDS 5
/* What session_turn() and session_follow() wait for: that many descriptors. */
size_t session_fds(const struct session *s, struct pollfd fds[SESSION_FDS]);
/*
 * Follows what processes do while nothing is sampled yet. Returns when it wants its next turn, at
 * the latest (CLOCK_MONOTONIC ns); UINT64_MAX: when a descriptor is readable.
 */
uint64_t session_follow(struct session *s);
/*
 * Samples from here on. 0, or a negative errno with @e filled; what was sampled afterwards is
 * always kept.
 */
int session_start(struct session *s, struct error *e);
/* CLOCK_MONOTONIC ns of session_start(). */
uint64_t session_started(const struct session *s);
/*
 * The end comes @at (CLOCK_MONOTONIC ns), or when @fd is readable: where more was sampled than can
 * be worked on, what is left is dropped soon after that (session/deadline.h).
 */
void session_ends(struct session *s, uint64_t at, int fd);

struct session_turn {
	uint64_t next;		/* CLOCK_MONOTONIC ns: the next turn, at the latest */
	int fetched;		/* there are new counts: see session_update() */
};

/* @every: ns after which counts are fetched, at the latest; 0: as usual. */
struct session_turn session_turn(struct session *s, uint64_t now, uint64_t every);
/*
 * After session_update(): another rate of samples from now on, Hz a CPU, where there is one. What
 * was taken meanwhile, some ms, counts as of the new one.
 */
void session_set_frequency(struct session *s, uint64_t frequency);
void session_progress(const struct session *s, uint64_t now, struct session_progress *p);
/* Completes the profile as of @now, in a session that is live. */
void session_update(struct session *s, uint64_t now);
/*
 * After session_update(), where whoever looks at the profile has all of it: processes that ended
 * more than @window (ns) ago may be folded (profile/profile_fold.h). Does nothing where a source
 * keeps numbers of samples.
 */
void session_fold(struct session *s, uint64_t window);
/*
 * In one that may go on for days, after each session_update(): 1 where a profile that has become
 * large is to be replaced by a new one, which has what is still sampled, some updates after it was
 * found to be so.
 */
int session_renews(struct session *s);
/*
 * Then, where all that the profile has was taken out of it. Returns the old one, which is the
 * caller's. @window as above.
 */
struct profile *session_renew(struct session *s, uint64_t window);
/* Now and then in one that goes on for days: gives back memory of what can be read again. */
void session_rest(struct session *s);
/* Ends sampling, and fetches the rest; also where it never began. */
void session_stop(struct session *s);
/* Completes the profile; waits for the names that are still to come where @names. */
void session_finish(struct session *s, int names, struct session_result *r);
/* Keeps for later runs what took long to name (symbols/name_store.h), after session_finish(). */
void session_save_names(struct session *s);
/*
 * The times of samples that came since the last call, the caller's; NULL where none are kept. The
 * profile does not get them any more. Their samples are those of the profile as of now.
 */
struct timeline *session_take_timeline(struct session *s);
/* Valid until session_free(). */
struct profile *session_profile(struct session *s);
void session_free(struct session *s);

#endif
