/* SPDX-License-Identifier: MIT */
/*
 * A profile that is made for days: its rows do not become more with each process that there ever
 * was.
 *
 * To *fold* a profile is to make one process of all of one name that ended: "cc1", of pid 0, whose
 * threads are one for each name, of tid 0; and one thread of all of one name that ended in a
 * process that goes on, with the id of the first of them. No sum changes; who did what is still
 * known by name. Strings, modules, functions, locations, nodes and label sets stay what they are.
 * Processes, threads and samples get new indexes, which whoever holds indexes takes from
 * profile_folded().
 */
#ifndef EBPROF_PROFILE_FOLD_H
#define EBPROF_PROFILE_FOLD_H

#include "profile/profile.h"

#define PROFILE_ENDED " (ended)"	/* the mark where names tell who ended */

/*
 * @ended: by process; 1: it ended, and nothing more will be counted for it. @mark follows their
 * names: PROFILE_ENDED, or "". @same: by thread, the one that it becomes: itself, or one before it
 * that has its process and name and becomes itself; NULL: all become themselves.
 */
void profile_fold(struct profile *p, const unsigned char *ended, const uint32_t *same,
		  const char *mark);

/* What became of what there was before the last profile_fold(). */
struct profile_folded {
	uint64_t times;			/* that the profile was folded; 0: the rest is empty */
	const uint32_t *processes;	/* index before -> index since then, never a higher one */
	const uint32_t *samples;
	size_t nprocesses, nsamples;	/* that there were */
};
/* Valid until the next change. */
struct profile_folded profile_folded(const struct profile *p);
/*
 * The process that profile_fold() makes of those of the name @comm, string or 0: for one whose
 * first sample comes when it has ended.
 */
uint32_t profile_ended_process(struct profile *p, uint32_t comm, const char *mark);
/* 1 for such a process, and for a sample of one. */
int process_is_ended(const struct process *process);
int profile_sample_ended(const struct profile *p, uint32_t sample);

/*
 * For a table by sample of the caller's own, before the fold: what became one is summed up. Returns
 * how many there are now.
 */
size_t profile_fold_sums(const struct profile_folded *f, uint64_t *sums, size_t n);

#endif
